import torch
from torch.func import grad_and_value

torch.manual_seed(0)
params = {"w": torch.randn(5, 1), "log_scale": torch.zeros(1)}
x = torch.randn(100, 5)
y = x @ torch.ones(5, 1)


def nll(p):
    r = (y - x @ p["w"]) / p["log_scale"].exp()
    return (0.5 * r**2).mean() + p["log_scale"].mean()


for i in range(40):
    g, v = grad_and_value(nll)(params)  # <- AD401
    params = {k: params[k] - 50 * g[k] for k in params}
    if i % 5 == 0:
        print(i, float(v))
