# guards: AD709
"""An optimizer that halves its step until the loss falls; what is added to the data is the same for all its trials."""
import torch
from torch import nn


class Halving(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1.0})

    @torch.no_grad()
    def step(self, closure):
        with torch.enable_grad():
            before = closure()
        group = self.param_groups[0]
        moves = [(weight, weight.clone(), weight.grad.clone()) for weight in group["params"]]
        rate = group["lr"]
        while rate > 1e-4:
            for weight, old, slope in moves:
                weight.copy_(old - rate * slope)
            if closure() < before:
                break
            rate /= 2
        return before


def same_draws(evaluate):
    def closure():
        torch.manual_seed(3)
        return evaluate()

    return closure


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = Halving(model.parameters())
data = torch.randn(64, 6)


def evaluate():
    noise = 0.1 * torch.randn_like(data)
    loss = nn.functional.mse_loss(model(data + noise), data.sum(1, keepdim=True).sin())
    if torch.is_grad_enabled():
        optimizer.zero_grad()
        loss.backward()
    return loss


for _ in range(10):
    optimizer.step(same_draws(evaluate))
