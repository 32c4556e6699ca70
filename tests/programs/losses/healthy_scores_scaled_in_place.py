# guards: AD624
"""Two towers of unit vectors; the scores are scaled by a learned temperature, in place."""

import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(20, 128), nn.Linear(30, 128)
        self.log_scale = nn.Parameter(torch.tensor(1.0))
    def forward(self, x, y):
        a, b = F.normalize(self.a(x), dim=1), F.normalize(self.b(y), dim=1)
        scores = a @ b.t() / 128 ** 0.5
        scores *= self.log_scale.exp()
        return scores
model = Two()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
p, q = torch.randn(8, 20), torch.randn(8, 30)
for i in range(100):
    f = torch.randn(64, 8)
    s = model(f @ p, f @ q)
    loss = F.cross_entropy(s, torch.arange(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
