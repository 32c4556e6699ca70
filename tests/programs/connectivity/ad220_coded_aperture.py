"""End-to-end design of a sensing mask with its decoder: the mask has gradients and no optimizer (AD220)."""
import torch
from torch import nn, optim


def measure(scene, mask_logits, noise=0.02):
    """Simulated sensor: soft-binary mask, projection, read noise."""
    mask = torch.sigmoid(4 * mask_logits)
    y = scene @ mask / scene.shape[1] ** 0.5
    return y + noise * torch.randn_like(y)


def scenes(n, d=32, rank=5):
    g = torch.Generator().manual_seed(7)
    basis = torch.randn(rank, d, generator=g)
    return torch.randn(n, rank) @ basis


def train(n_meas=10, n_iter=40):
    design = torch.empty(32, n_meas).uniform_(-0.5, 0.5).requires_grad_()  # expect: AD220
    decoder = nn.Sequential(nn.Linear(n_meas, 64), nn.LeakyReLU(), nn.Linear(64, 32))
    opt = optim.Adam(decoder.parameters(), lr=4e-3)
    sched = optim.lr_scheduler.StepLR(opt, step_size=15, gamma=0.7)
    for it in range(n_iter):
        s = scenes(64)
        rec = decoder(measure(s, design))
        loss = (rec - s).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 10 == 0:
            print(it, round(loss.item(), 4))
    return design.detach(), decoder


torch.manual_seed(0)
mask, _ = train()
print('open fraction', (mask > 0).float().mean().item())
