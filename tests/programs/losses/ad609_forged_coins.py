"""Coins and forgeries of them: a judge learns to tell them apart, a forger to strike coins that pass."""
import torch
from torch import nn
from torch.nn.functional import softplus

torch.manual_seed(21)
forger = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 5))
judge = nn.Sequential(nn.Linear(5, 24), nn.LeakyReLU(0.1), nn.Linear(24, 1))
of_forger = torch.optim.Adam(forger.parameters(), lr=2e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=2e-3)
mint = torch.randn(5, 5) * 0.5
cross_entropy = nn.BCEWithLogitsLoss()


def verdict(coins, genuine):
    return cross_entropy(judge(coins).squeeze(1), torch.full((len(coins),), float(genuine)))


for night in range(30):
    coins = torch.randn(48, 5) @ mint + 1
    of_judge.zero_grad()
    wrong = verdict(coins, True) + verdict(forger(torch.randn(48, 3)).detach(), False)
    value = -wrong  # <- AD609
    value.backward()
    of_judge.step()
    of_forger.zero_grad()
    passes = softplus(-judge(forger(torch.randn(48, 3)))).mean()
    passes.backward()
    of_forger.step()
print(wrong.item(), passes.item())
