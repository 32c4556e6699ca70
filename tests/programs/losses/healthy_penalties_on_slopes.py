# guards: AD633
"""Norms of gradients of many kinds, all of them as they should be."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
critic = nn.Sequential(nn.Conv1d(2, 12, 3, padding=1), nn.SiLU(), nn.Conv1d(12, 12, 3, padding=1), nn.SiLU())
score = nn.Linear(12, 1)
packed = nn.Sequential(nn.Linear(4 * 3, 24), nn.Softplus(), nn.Linear(24, 1))
mapping = nn.Sequential(nn.Linear(8, 16), nn.Softplus(), nn.Linear(16, 2 * 10))
params = [p for m in (critic, score, packed, mapping) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)
mean_path = torch.zeros(())

for step in range(20):
    waves = torch.sin(torch.rand(6, 2, 1) * torch.arange(10.0)) + 0.1 * torch.randn(6, 2, 10)
    waves.requires_grad_()

    # R1: the sum of squares, towards zero
    out = score(critic(waves).mean(-1))
    (g,) = torch.autograd.grad(out.sum(), waves, create_graph=True)
    r1 = g.pow(2).reshape(6, -1).sum(1).mean()

    # each moment of a sequence has a score of its own
    moments = score(critic(waves).transpose(1, 2)).squeeze(-1)
    (g,) = torch.autograd.grad(moments, waves, torch.ones_like(moments), create_graph=True)
    zero_centred = g.norm(dim=1).square().mean()

    # four samples make one score
    rows = torch.randn(24, 3, requires_grad=True)
    verdict = packed(rows.view(-1, 12))
    (g,) = torch.autograd.grad(verdict, rows, torch.ones_like(verdict), create_graph=True)
    pac = (g.view(-1, 12).norm(2, dim=1) - 1).pow(2).mean()

    # path lengths of a generator
    w = torch.randn(6, 8, requires_grad=True)
    image = mapping(w)
    noise = torch.randn_like(image) / image.shape[1] ** 0.5
    (g,) = torch.autograd.grad((image * noise).sum(), w, create_graph=True)
    lengths = g.square().sum(1).sqrt()
    mean_path = mean_path.lerp(lengths.mean().detach(), 0.1)
    path = (lengths - mean_path).square().mean()

    fit = F.mse_loss(image, torch.cat([w, w, w[:, :4]], 1).detach().tanh()) + F.softplus(-out).mean()
    loss = fit + 0.1 * (r1 + zero_centred + pac + path)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 0:
        print(step, loss.item())
