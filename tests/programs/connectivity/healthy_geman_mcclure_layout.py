# guards: AD229
"""Structure from distances: robust sensor localisation, node by node."""
import torch
from torch import nn

torch.manual_seed(12)
N, OUTLIERS = 24, 0.12
SCALE2 = 1e-3           # (about 3 cm) ** 2, beyond which a range reading is doubted


class RangeData:
    def __init__(self):
        self.truth = torch.rand(N, 2)
        i, j = torch.triu_indices(N, N, offset=1)
        keep = torch.rand(len(i)) < 0.6
        self.i, self.j = i[keep], j[keep]
        d = (self.truth[self.i] - self.truth[self.j]).norm(dim=1)
        d = d + 0.01 * torch.randn_like(d)
        bad = torch.rand(len(d)) < OUTLIERS
        d[bad] += 0.3 + 0.3 * torch.rand(int(bad.sum()))
        self.d = d

    def __len__(self):
        return len(self.d)


class Layout(nn.Module):
    def __init__(self, guess):
        super().__init__()
        self.xy = nn.Parameter(guess.clone())

    def forward(self, i, j):
        return (self.xy[i] - self.xy[j]).square().sum(-1).add(1e-9).sqrt()


def geman_mcclure(sq):
    return sq / (sq + SCALE2)


def aligned_error(xy, truth):
    a, b = xy - xy.mean(0), truth - truth.mean(0)
    u, _, vt = torch.linalg.svd(a.T @ b)
    return (a @ (u @ vt) - b).norm(dim=1).median().item()


data = RangeData()
layout = Layout(data.truth + 0.08 * torch.randn(N, 2))
opt = torch.optim.Adam(layout.parameters(), lr=3e-3)
print("start", round(aligned_error(layout.xy.detach(), data.truth), 4))
for epoch in range(20):
    running = 0.0
    for batch in torch.randperm(len(data)).split(24):
        loss = 0.0
        for k in batch.tolist():
            residual = layout(data.i[k], data.j[k]) - data.d[k]
            loss = loss + geman_mcclure(residual.square())
        loss = loss / len(batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() * len(batch) / len(data)
    if epoch % 4 == 3:
        print(epoch, "objective", round(running, 4), "median error", round(aligned_error(layout.xy.detach(), data.truth), 4))
