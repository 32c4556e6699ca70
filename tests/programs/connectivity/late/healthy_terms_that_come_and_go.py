# guards: AD216
"""Terms that are cut now and then, numbers that are added and weigh nothing, and a likelihood with its constants."""

import math

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 6)
y = x[:, :1] - x[:, 1:2] ** 2

# A term that is taught in turns of forty steps, and shown in the others.
trunk, head, side = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 6)
opt = torch.optim.Adam([*trunk.parameters(), *head.parameters(), *side.parameters()], lr=3e-3)
for step in range(200):
    h = torch.tanh(trunk(x))
    rebuilt = (side(h) - x).square().mean()
    if step // 40 % 2:
        rebuilt = rebuilt.detach()
    loss = (head(h) - y).square().mean() + 0.5 * rebuilt
    opt.zero_grad()
    loss.backward()
    opt.step()

# Two stages: the encoder is frozen in the second, and what is computed of it alone stays in the sum.
encoder, decoder = nn.Linear(6, 3), nn.Linear(3, 6)
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
for step in range(200):
    if step == 80:
        encoder.requires_grad_(False)
    code = encoder(x)
    loss = (decoder(code) - x).square().mean() + 0.01 * code.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()

# A likelihood whose noise is annealed: its constant changes from step to step, and the error is logged before.
mean = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(mean.parameters(), lr=3e-3)
log = []
for step in range(120):
    sigma = 0.3 + 0.7 * math.exp(-step / 37)
    error = (mean(x) - y).square().mean()
    log.append(error.item())
    loss = error / (2 * sigma**2) + math.log(sigma)
    opt.zero_grad()
    loss.backward()
    opt.step()

# The largest score is taken off and added again as a number.
scorer = nn.Linear(6, 5)
opt = torch.optim.SGD(scorer.parameters(), lr=0.1)
labels = x[:, :5].argmax(1)
for _ in range(60):
    scores = scorer(x)
    top = scores.max().item()
    normaliser = (scores - top).exp().sum(1).log() + top
    loss = (normaliser - scores.gather(1, labels[:, None]).squeeze(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(log[-1], float(loss))
