# guards: AD627 AD608
"""SimCLR: a contrastive loss over all pairs of the batch, with a projection head."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def nt_xent(z1, z2, temperature=0.5):
    z = torch.cat([z1, z2])
    similarity = z @ z.T / temperature
    similarity.fill_diagonal_(float("-inf"))
    n = z1.size(0)
    positives = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(similarity, positives)


def augment(x):
    keep = (torch.rand_like(x) > 0.1).float()
    return x * keep + 0.1 * torch.randn_like(x)


torch.manual_seed(0)
model = SimCLR()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-6)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)
anchors = torch.randn(256, 20)
for step in range(30):
    x = anchors[torch.randperm(256)[:32]]
    loss = nt_xent(model(augment(x)), model(augment(x)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 10 == 0:
        print(step, loss.item())
