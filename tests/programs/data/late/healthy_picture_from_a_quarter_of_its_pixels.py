# guards: AD701
"""Sinusoidal representation of one picture, seen at a fixed 25 % of pixels (inpainting); coordinates indexed by the
known-pixel mask each step; the whole picture is rendered at the end with torch.func."""
import torch
from torch import nn
from torch.func import functional_call, vmap

torch.manual_seed(0)
S = 24
yy, xx = torch.meshgrid(torch.linspace(-1, 1, S), torch.linspace(-1, 1, S), indexing="ij")
coords = torch.stack([yy, xx], -1).reshape(-1, 2)
picture = (torch.sin(4 * coords[:, :1]) * torch.cos(3 * coords[:, 1:]) + 1) / 2
known = torch.randperm(S * S)[: S * S // 4]


class Sine(nn.Module):
    def __init__(self, i, o, w=6.0):
        super().__init__()
        self.lin, self.w = nn.Linear(i, o), w

    def forward(self, x):
        return torch.sin(self.w * self.lin(x))


inr = nn.Sequential(Sine(2, 32), Sine(32, 32, 3.0), nn.Linear(32, 1))
opt = torch.optim.Adam(inr.parameters(), lr=2e-3)
for it in range(150):
    loss = (inr(coords[known]) - picture[known]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 50 == 49:
        print(it, "psnr", (-10 * loss.log10()).item())
weights = {k: v.detach() for k, v in inr.named_parameters()}
with torch.no_grad():
    full = vmap(lambda c: functional_call(inr, weights, (c,)))(coords)
print("whole", (full - picture).square().mean().item())
