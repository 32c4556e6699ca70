# guards: AD627
"""Each picture of a batch comes with two captions."""
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
img, txt = nn.Linear(20, 16), nn.Linear(12, 16)
opt = torch.optim.Adam([*img.parameters(), *txt.parameters()], lr=0.01)
I = torch.randn(200, 20)
for s in range(30):
    i = torch.randperm(200)[:16].repeat(2)
    a = F.normalize(img(I[i]), dim=1)
    b = F.normalize(txt(I[i][:, :12] + 0.3 * torch.randn(32, 12)), dim=1)
    l = a @ b.T / .1
    loss = (F.cross_entropy(l, torch.arange(32)) + F.cross_entropy(l.T, torch.arange(32))) / 2
    opt.zero_grad(); loss.backward(); opt.step()
