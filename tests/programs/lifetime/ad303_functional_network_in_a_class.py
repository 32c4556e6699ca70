import torch
from torch.func import functional_call, grad_and_value


class Regressor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.GELU(), torch.nn.Linear(24, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


class Fitter:
    def __init__(self, net, lr):
        self.net, self.lr = net, lr
        self.state = {k: p for k, p in net.named_parameters()}
        self.velocity = {k: torch.zeros_like(p) for k, p in self.state.items()}

    def objective(self, state, x, y):
        return torch.nn.functional.huber_loss(functional_call(self.net, state, (x,)), y)

    def step(self, x, y):
        grads, value = grad_and_value(self.objective)(self.state, x, y)
        fresh = {}
        for k, p in self.state.items():
            self.velocity[k] = 0.8 * self.velocity[k] + grads[k].detach()
            fresh[k] = p - self.lr * self.velocity[k]  # <- AD303
        self.state = fresh
        return value.detach()


torch.manual_seed(3)
fitter = Fitter(Regressor(), 0.05)
xs = torch.randn(400, 6)
ys = xs[:, 0] * xs[:, 1] + xs[:, 2]
for epoch in range(5):
    for chunk in torch.randperm(400).split(50):
        value = fitter.step(xs[chunk], ys[chunk])
    print(epoch, value.item())
