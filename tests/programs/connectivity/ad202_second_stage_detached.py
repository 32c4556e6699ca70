import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)
signals = torch.sin(torch.rand(96, 1) * torch.linspace(0, 9, 24)) + 0.05 * torch.randn(96, 24)
kinds = (signals.diff().abs().sum(1) > signals.diff().abs().sum(1).median()).long()

squeeze = nn.Sequential(nn.Linear(24, 16), nn.GELU(), nn.Linear(16, 4))


def rebuild(rounds=14):
    unsqueeze = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 24))
    optimiser = torch.optim.Adam(list(squeeze.parameters()) + list(unsqueeze.parameters()), 2e-3)
    for _ in range(rounds):
        optimiser.zero_grad()
        error = F.mse_loss(unsqueeze(squeeze(signals)), signals)
        error.backward()
        optimiser.step()
    return error.item()


def label(rounds=14):
    decide = nn.Linear(4, 2)
    optimiser = torch.optim.Adam([
        {"params": squeeze.parameters(), "lr": 1e-3},
        {"params": decide.parameters(), "lr": 1e-2},
    ])
    for _ in range(rounds):
        code = squeeze(signals).detach()  # <- AD202
        error = F.cross_entropy(decide(code), kinds)
        optimiser.zero_grad()
        error.backward()
        optimiser.step()
    return error.item()


print("rebuilt", rebuild())
print("labelled", label())
