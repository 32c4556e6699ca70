# guards: AD709
"""The same numbers for all that a search compares: closures of L-BFGS, and trials at other weights, by hand."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(32, 4)
wanted = inputs.sum(1, keepdim=True)

noisy = nn.Linear(4, 1)
lbfgs = torch.optim.LBFGS(noisy.parameters(), lr=0.5, max_iter=3)


def closure():
    torch.manual_seed(1234)
    loss = nn.functional.mse_loss(noisy(inputs + 0.1 * torch.randn_like(inputs)), wanted)
    lbfgs.zero_grad()
    loss.backward()
    return loss


for step in range(8):
    lbfgs.step(closure)

sampled = nn.Linear(4, 1)
searching = torch.optim.LBFGS(sampled.parameters(), max_iter=4, line_search_fn="strong_wolfe")


def resampled():
    np.random.seed(5)
    rows = np.random.choice(32, 16)
    searching.zero_grad()
    loss = nn.functional.smooth_l1_loss(sampled(inputs[rows]), wanted[rows])
    loss.backward()
    return loss


for step in range(6):
    searching.step(resampled)

mean, spread = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([mean, spread], lr=0.05)


def objective(seed):
    torch.manual_seed(seed)
    return (mean + spread.exp() * torch.randn(16, 4) - 1).square().mean()


for step in range(6):
    optimizer.zero_grad()
    first = objective(step)
    first.backward()
    optimizer.step()
    with torch.no_grad():
        if objective(step) > first:
            print("worse, on the same draws")

pushed = nn.Linear(4, 1)
stepped = torch.optim.SGD(pushed.parameters(), lr=0.05)
for step in range(6):

    def both_sides():
        torch.manual_seed(step)
        stepped.zero_grad()
        loss = nn.functional.mse_loss(pushed(nn.functional.dropout(inputs, 0.2)), wanted)
        loss.backward()
        return loss

    stepped.step(both_sides)
