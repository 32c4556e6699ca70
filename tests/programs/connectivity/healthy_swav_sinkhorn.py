# guards: AD216
"""SwAV: codes from Sinkhorn under no_grad, swapped prediction, prototypes normalised after every step."""
import torch
from torch import nn
import torch.nn.functional as F


@torch.no_grad()
def sinkhorn(scores, eps=0.1, iters=3):
    Q = torch.exp((scores - scores.max()) / eps).T
    Q /= Q.sum()
    K, B = Q.shape
    for _ in range(iters):
        Q /= Q.sum(1, keepdim=True) * K
        Q /= Q.sum(0, keepdim=True) * B
    return (Q * B).T


class SwAV(nn.Module):
    def __init__(self, d=16, z=8, k=10):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, z))
        self.prototypes = nn.Linear(z, k, bias=False)

    @torch.no_grad()
    def normalize_prototypes(self):
        self.prototypes.weight.copy_(F.normalize(self.prototypes.weight, dim=1))

    def forward(self, x):
        return self.prototypes(F.normalize(self.f(x), dim=1))


torch.manual_seed(0)
model, centers = SwAV(), torch.randn(10, 16)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(30):
    base = centers[torch.randint(10, (80,))]
    s1, s2 = (model(base + 0.2 * torch.randn_like(base)) for _ in range(2))
    q1, q2 = sinkhorn(s1), sinkhorn(s2)
    loss = -0.5 * ((q1 * F.log_softmax(s2 / 0.2, 1)).sum(1) + (q2 * F.log_softmax(s1 / 0.2, 1)).sum(1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    model.normalize_prototypes()
    if step % 10 == 9:
        print(step + 1, loss.item())
