"""Learn 8-bit codes for images of bars, decode back."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(60)


class Coder(nn.Module):
    def __init__(self, bits=8):
        super().__init__()
        self.enc1 = nn.Linear(36, 64)
        self.enc2 = nn.Linear(64, bits)
        self.dec1 = nn.Linear(bits, 64)
        self.dec2 = nn.Linear(64, 36)

    def encode(self, x):
        p = torch.sigmoid(self.enc2(F.relu(self.enc1(x))))
        return torch.round(p)  # expect: AD202

    def forward(self, x):
        return self.dec2(F.relu(self.dec1(self.encode(x))))


def bars(n=64):
    img = torch.zeros(n, 6, 6)
    r = torch.randint(0, 6, (n,))
    c = torch.randint(0, 6, (n,))
    i = torch.arange(n)
    img[i, r, :] = 1
    img[i, :, c] = 1
    return img.flatten(1)


net = Coder()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(300):
    x = bars()
    loss = F.binary_cross_entropy_with_logits(net(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, round(loss.item(), 4), "distinct codes", len(torch.unique(net.encode(x), dim=0)))
