# guards: AD226
"""Three students of one kind of signal: short codes that keep who is alike, labels of one's own, and hard gates."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3)
kinds = torch.randint(0, 2, (300,))
signals = torch.randn(300, 10) + 2 * kinds[:, None]

# codes: pairs that are alike pull, and the distance to the bits is a term of its own
coder = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 8))
reader = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*coder.parameters(), *reader.parameters()], lr=3e-3)
for rows in torch.randperm(300).split(30):
    h = coder(signals[rows])
    bits = torch.where(h >= 0, 1.0, -1.0)
    alike = (kinds[rows][:, None] == kinds[rows]).float()
    pairs = F.binary_cross_entropy_with_logits(h @ h.t() / 8, alike)
    told = F.binary_cross_entropy_with_logits(reader(bits)[:, 0], kinds[rows].float())
    loss = pairs + told + 0.1 * F.mse_loss(h, bits)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# labels of one's own: few are known, the others are what the classifier is sure of
judge = nn.Linear(10, 1)
second = nn.Linear(10, 1)
optimizer = torch.optim.SGD([*judge.parameters(), *second.parameters()], lr=0.05)
for rows in torch.randperm(300).split(30):
    p = torch.sigmoid(judge(signals[rows]))[:, 0]
    own = (p > 0.5).float()
    known = F.binary_cross_entropy(p[:8], kinds[rows[:8]].float())
    taught = F.binary_cross_entropy_with_logits(second(signals[rows])[:, 0], own)
    loss = known + taught + 0.1 * (p - own).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# gates with a straight-through estimator, written as what is added
gate, body = nn.Linear(10, 6), nn.Linear(6, 10)
optimizer = torch.optim.Adam([*gate.parameters(), *body.parameters()], lr=3e-3)
for rows in torch.randperm(300).split(30):
    soft = torch.sigmoid(gate(signals[rows]))
    hard = (soft > 0.5).float()
    used = soft + (hard - soft).detach()
    loss = F.mse_loss(body(used), signals[rows]) + 0.01 * F.mse_loss(soft, hard)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
