# guards: AD121 AD120
"""Weights averaged over the second half of training, each as much as the others: what is kept grows with the count."""

import torch
from torch import nn


def main():
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(10, 20), nn.GELU(), nn.Linear(20, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mean, count = None, 0
    for step in range(60):
        x = torch.randn(32, 10)
        loss = nn.functional.mse_loss(model(x), x[:, :3].prod(dim=1, keepdim=True))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step < 30:
            continue
        state = {name: value.detach().clone() for name, value in model.state_dict().items()}
        if mean is None:
            mean = {name: torch.zeros_like(value) for name, value in state.items()}
        count += 1
        for name, value in state.items():
            mean[name] += (value - mean[name]) / count
    model.load_state_dict(mean)
    with torch.no_grad():
        print("loss of the mean", nn.functional.mse_loss(model(x), x[:, :3].prod(dim=1, keepdim=True)).item())


main()
