import torch
import torch.nn.functional as F
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset, random_split

torch.manual_seed(11)
points = torch.rand(900, 2) * 6 - 3
heights = torch.sin(points[:, :1]) * torch.cos(points[:, 1:])
fit_set, check_set = random_split(TensorDataset(points, heights), [780, 120])
draw = BatchSampler(RandomSampler(check_set), batch_size=30, drop_last=False)
fit = DataLoader(fit_set, batch_sampler=draw)  # <- AD711
check = DataLoader(check_set, batch_size=60)

w1 = torch.nn.Parameter(torch.randn(2, 40) * 0.7)
b1 = torch.nn.Parameter(torch.zeros(40))
w2 = torch.nn.Parameter(torch.randn(40, 1) * 0.15)
rule = torch.optim.Adam([w1, b1, w2], lr=5e-3)


def surface(p):
    return torch.tanh(p @ w1 + b1) @ w2


for sweep in range(6):
    for p, h in fit:
        error = F.mse_loss(surface(p), h)
        rule.zero_grad(set_to_none=True)
        error.backward()
        rule.step()
    with torch.no_grad():
        print(sweep, sum(F.mse_loss(surface(p), h).item() for p, h in check) / len(check))
