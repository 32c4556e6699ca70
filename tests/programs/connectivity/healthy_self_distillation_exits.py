# guards: AD216
"""Multi-exit network: the last exit teaches the earlier ones, its logits and features detached as targets, all losses summed."""
import torch
from torch import nn
import torch.nn.functional as F


class MultiExit(nn.Module):
    def __init__(self, d=10, w=32, k=4, n=3):
        super().__init__()
        self.stem = nn.Linear(d, w)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(w), nn.Linear(w, w), nn.ReLU()) for _ in range(n))
        self.exits = nn.ModuleList(nn.Linear(w, k) for _ in range(n))

    def forward(self, x):
        x = self.stem(x)
        outs, feats = [], []
        for b, e in zip(self.blocks, self.exits):
            x = x + b(x)
            feats.append(x)
            outs.append(e(x))
        return outs, feats


def loss_fn(outs, feats, y, T=3.0, alpha=0.3, beta=0.03):
    teacher_p = F.softmax(outs[-1].detach() / T, dim=1)
    teacher_f = feats[-1].detach()
    terms = [F.cross_entropy(outs[-1], y)]
    for o, f in zip(outs[:-1], feats[:-1]):
        terms.append((1 - alpha) * F.cross_entropy(o, y))
        terms.append(alpha * T * T * F.kl_div(F.log_softmax(o / T, 1), teacher_p, reduction="batchmean"))
        terms.append(beta * F.mse_loss(f, teacher_f))
    return torch.stack(terms).sum()


torch.manual_seed(0)
model, W = MultiExit(), torch.randn(10, 4)
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(30):
    x = torch.randn(96, 10)
    loss = loss_fn(*model(x), (x @ W).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        print(step + 1, loss.item())
