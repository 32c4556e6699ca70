# guards: AD216
"""SimSiam with a symmetric negative cosine loss and stop-gradient on the projection."""
import torch
from torch import nn


def D(p, z):
    z = z.detach()
    p = nn.functional.normalize(p, dim=1)
    z = nn.functional.normalize(z, dim=1)
    return -(p * z).sum(dim=1).mean()


class SimSiam(nn.Module):
    def __init__(self, d=20, h=32, out=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, out), nn.BatchNorm1d(out))
        self.predictor = nn.Sequential(nn.Linear(out, 8), nn.ReLU(), nn.Linear(8, out))

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        L = D(p1, z2) / 2 + D(p2, z1) / 2
        return {'loss': L, 'std': z1.detach().std(0).mean()}


torch.manual_seed(0)
model = SimSiam().train()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
protos = torch.randn(8, 20)
for step in range(30):
    x = protos[torch.randint(8, (64,))]
    out = model(x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x))
    opt.zero_grad()
    out['loss'].backward()
    opt.step()
    if step % 10 == 0:
        print(step, out['loss'].item(), out['std'].item())
