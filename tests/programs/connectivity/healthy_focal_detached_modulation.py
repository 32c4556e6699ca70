# guards: AD216
"""Focal loss whose modulating factor (1 - p)^gamma is detached, plus a soft Dice term."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FocalDice(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.75, dice_weight=0.5):
        super().__init__()
        self.gamma, self.alpha, self.dice_weight = gamma, alpha, dice_weight

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        p = logits.sigmoid()
        pt = torch.where(target > 0.5, p, 1 - p)
        a = torch.where(target > 0.5, self.alpha, 1 - self.alpha)
        focal = (a * (1 - pt.detach()) ** self.gamma * bce).sum() / target.sum().clamp(min=1)
        inter = (p * target).flatten(1).sum(1)
        dice = 1 - (2 * inter + 1) / (p.flatten(1).sum(1) + target.flatten(1).sum(1) + 1)
        return focal + self.dice_weight * dice.mean()


torch.manual_seed(0)
seg = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
criterion = FocalDice()
optimizer = torch.optim.Adam(seg.parameters(), lr=1e-2)
for it in range(30):
    mask = torch.zeros(8, 1, 16, 16)
    for m in mask:
        r, c = torch.randint(0, 12, (2,)).tolist()
        m[0, r:r + 4, c:c + 4] = 1
    image = mask + 0.4 * torch.randn_like(mask)
    loss = criterion(seg(image), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(it, loss.item())
