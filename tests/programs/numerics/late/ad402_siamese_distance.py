import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
centers = torch.randn(10, 20) * 2
bank = torch.cat([c + torch.randn(40, 20) for c in centers])
ident = torch.arange(10).repeat_interleave(40)


def draw(n=48):
    """anchor, another photo of the same person, a photo of somebody else"""
    a = torch.randint(0, 400, (n,))
    p = ident[a] * 40 + torch.randint(0, 40, (n,))
    same = p == a
    if torch.rand(()) < 0.99:
        p[same] = ident[a[same]] * 40 + (a[same] + 1) % 40
    q = torch.randint(0, 400, (n,))
    clash = ident[q] == ident[a]
    q[clash] = (q[clash] + 40) % 400
    return bank[a], bank[p], bank[q]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(20, 64), nn.Linear(64, 16)

    def forward(self, x):
        return F.normalize(self.fc2(F.relu(self.fc1(x))), dim=-1)


def euclid(u, v):
    return torch.sqrt(((u - v) ** 2).sum(-1))  # expect: AD402


enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
for it in range(110):
    a, p, n = (enc(z) for z in draw())
    loss = F.relu(euclid(a, p) - euclid(a, n) + 0.5).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
