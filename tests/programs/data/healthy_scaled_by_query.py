# guards: AD720
"""Learning to rank, LETOR convention: features are standardised within each query's candidate list."""
import torch
from torch import nn

torch.manual_seed(3)


def query_set(n_queries):
    feats, rel = [], []
    for _ in range(n_queries):
        docs = int(torch.randint(20, 40, ()))
        f = torch.randn(docs, 6) * torch.rand(6).add(0.3) * 4 + 10 * torch.randn(6)
        f = (f - f.mean(0)) / f.std(0, correction=0)
        feats.append(f)
        rel.append(f[:, 0] + 0.5 * f[:, 1].tanh() + 0.3 * torch.randn(docs))
    return torch.cat(feats), torch.cat(rel)


xtr, ytr = query_set(60)
xte, yte = query_set(12)
net = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 2e-3)
for epoch in range(10):
    net.train()
    for idx in torch.randperm(len(xtr)).split(128):
        opt.zero_grad()
        loss = (net(xtr[idx])[:, 0] - ytr[idx]).square().mean()
        loss.backward()
        opt.step()
    net.eval()
    with torch.inference_mode():
        scores = torch.cat([net(c)[:, 0] for c in xte.split(100)])
        r = torch.corrcoef(torch.stack([scores, yte]))[0, 1]
    print(epoch, f"{loss.item():.3f} corr {r.item():.3f}")
