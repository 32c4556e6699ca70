"""Denoiser with a CompositeLoss of named terms; the total-variation term is turned into a float (AD216)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def charbonnier(pred, target, eps=1e-3):
    return torch.sqrt((pred - target) ** 2 + eps ** 2).mean()


def gradient_l1(pred, target):
    dx = lambda t: t[..., :, 1:] - t[..., :, :-1]
    return F.l1_loss(dx(pred), dx(target))


def total_variation(pred, target):
    h = (pred[..., 1:, :] - pred[..., :-1, :]).abs().mean()
    w = (pred[..., :, 1:] - pred[..., :, :-1]).abs().mean()
    return float(h + w)


class CompositeLoss(nn.Module):
    def __init__(self, terms):
        super().__init__()
        self.terms = terms

    def forward(self, pred, target):
        total = torch.zeros((), device=pred.device)
        for name, (weight, fn) in self.terms.items():
            value = fn(pred, target)
            total = total + weight * value  # expect: AD216
        return total


class Denoiser(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, padding=1)
        self.c2 = nn.Conv2d(width, width, 3, padding=1)
        self.c3 = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x):
        h = F.relu(self.c1(x))
        h = F.relu(self.c2(h))
        return self.c3(h)


def make_batch(n=8, size=16):
    grid = torch.linspace(0, 3.14, size)
    freq = torch.randint(1, 4, (n, 1, 1, 1)).float()
    clean = torch.sin(freq * grid.view(1, 1, 1, -1)) * torch.cos(freq * grid.view(1, 1, -1, 1))
    return clean + 0.3 * torch.randn_like(clean), clean


def main():
    torch.manual_seed(0)
    model = Denoiser()
    criterion = CompositeLoss({
        "charb": (1.0, charbonnier),
        "grad": (0.5, gradient_l1),
        "tv": (0.1, total_variation),
    })
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
    for step in range(30):
        noisy, clean = make_batch()
        loss = criterion(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 10 == 0 or step == 29:
            print(step, f"{loss.item():.4f}", f"lr {scheduler.get_last_lr()[0]:.5f}")


main()
