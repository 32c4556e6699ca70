# guards: AD713
"""Rare events that are weighed, drawn more often, or one of many labels; and a critic whose labels are constant."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
x = torch.randn(600, 6)
rare = (x[:, 0] > 2.1).long()


def fit(net, batches, loss_of):
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for inputs, targets in batches:
        loss = loss_of(net(inputs), targets)
        opt.zero_grad()
        loss.backward()
        opt.step()


def build(outputs):
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, outputs))


weights = torch.where(rare > 0, 1.0 / rare.sum(), 1.0 / (600 - rare.sum()))
balanced = DataLoader(TensorDataset(x, rare), batch_size=40, sampler=WeightedRandomSampler(weights, 600))
fit(build(2), balanced, nn.functional.cross_entropy)

positive = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([50.0]))
plain = DataLoader(TensorDataset(x, rare[:, None].float()), batch_size=40, shuffle=True)
fit(build(1), plain, positive)


def focal(scores, targets):
    one_by_one = nn.functional.cross_entropy(scores, targets, reduction="none")
    return ((1 - (-one_by_one).exp()) ** 2 * one_by_one).mean()


fit(build(2), DataLoader(TensorDataset(x, rare), batch_size=40, shuffle=True), focal)

tags = (torch.rand(600, 30) < 0.03).float()
fit(build(30), DataLoader(TensorDataset(x, tags), batch_size=40, shuffle=True), nn.BCEWithLogitsLoss())

critic = build(1)
opt = torch.optim.Adam(critic.parameters(), lr=1e-3)
for rows in torch.randperm(600).split(40):
    real, fake = critic(x[rows]), critic(torch.randn(len(rows), 6) + 1)
    bce = nn.functional.binary_cross_entropy_with_logits
    loss = bce(real, torch.ones_like(real)) + bce(fake, torch.zeros_like(fake))
    opt.zero_grad()
    loss.backward()
    opt.step()
