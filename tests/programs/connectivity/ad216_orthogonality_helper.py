"""Siamese embedding net; the orthogonality regulariser is a @torch.no_grad() helper in the list of summed terms (AD216)."""
from dataclasses import dataclass

import torch
from torch import Tensor, nn
import torch.nn.functional as F


@dataclass
class Config:
    dim: int = 12
    emb: int = 8
    margin: float = 0.8
    ortho: float = 0.02
    steps: int = 30
    lr: float = 3e-3


@torch.no_grad()
def soft_orthogonality(w: Tensor) -> Tensor:
    gram = w @ w.T
    return (gram - torch.eye(gram.shape[0])).pow(2).sum()


def triplet(a: Tensor, p: Tensor, n: Tensor, margin: float) -> Tensor:
    d_ap = 1 - F.cosine_similarity(a, p)
    d_an = 1 - F.cosine_similarity(a, n)
    return F.relu(d_ap - d_an + margin).mean()


class Embedder(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(cfg.dim, 32), nn.ReLU())
        self.proj = nn.Linear(32, cfg.emb, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.trunk(x))


def fit(cfg: Config) -> list[float]:
    model = Embedder(cfg)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg.lr)
    anchors = torch.randn(5, cfg.dim)
    curve = []
    for _ in range(cfg.steps):
        c = torch.randint(0, 5, (64,))
        other = (c + torch.randint(1, 5, (64,))) % 5
        noise = lambda: 0.4 * torch.randn(64, cfg.dim)
        a, p, n = (model(anchors[k] + noise()) for k in (c, c, other))
        terms = [
            triplet(a, p, n, cfg.margin),
            0.01 * a.pow(2).mean(),
            cfg.ortho * soft_orthogonality(model.proj.weight),
        ]
        loss = sum(terms)  # expect: AD216
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
    return curve


torch.manual_seed(0)
curve = fit(Config())
print("start %.3f end %.3f" % (curve[0], curve[-1]))
