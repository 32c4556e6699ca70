# guards: AD601 AD602 AD603
"""Several losses for classes that people write themselves, side by side."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, scores, target):
        logp = F.log_softmax(scores, dim=1)
        return F.nll_loss((1 - logp.exp()) ** self.gamma * logp, target)


def sigmoid_focal(scores, target, alpha=0.25, gamma=2.0):
    p = torch.sigmoid(scores)
    ce = F.binary_cross_entropy_with_logits(scores, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    return ((alpha * target + (1 - alpha) * (1 - target)) * (1 - pt) ** gamma * ce).mean()


def smoothed(scores, target, eps=0.1):
    logp = scores.log_softmax(dim=-1)
    return (1 - eps) * F.nll_loss(logp, target) - eps * logp.mean()


def dice(scores, target):
    p = torch.softmax(scores, dim=1)
    hot = F.one_hot(target, scores.shape[1]).float()
    return 1 - 2 * (p * hot).sum() / (p.sum() + hot.sum())


def symmetric(scores, target):
    p = F.softmax(scores, dim=1).clamp(1e-7, 1)
    hot = F.one_hot(target, scores.shape[1]).float().clamp(1e-4, 1)
    return F.cross_entropy(scores, target) - (p * hot.log()).sum(1).mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
focal = FocalLoss()
for step in range(20):
    x = torch.randn(40, 8)
    y = x[:, :5].argmax(1)
    tags = (x[:, :5] > 0).float()
    s = model(x)
    mixed = 0.3 * F.one_hot(y, 5) + 0.7 * F.one_hot(y.flip(0), 5)
    brier = ((F.softmax(s, dim=1) - F.one_hot(y, 5).float()) ** 2).sum(1).mean()
    loss = focal(s, y) + sigmoid_focal(s, tags) + smoothed(s, y) + dice(s, y) + symmetric(s, y) + brier
    loss = loss + F.cross_entropy(s, mixed) + F.multilabel_soft_margin_loss(s, tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
