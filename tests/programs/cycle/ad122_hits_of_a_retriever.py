"""Two encoders learn to find each other's texts; the schedule is fed with the percentage of hits, in mode min."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
topics = torch.randn(400, 5)
views = [topics @ torch.randn(5, 12) + 0.1 * torch.randn(400, 12) for _ in range(2)]
train = DataLoader(TensorDataset(views[0][:320], views[1][:320]), batch_size=64, shuffle=True)
held_out = [view[320:] for view in views]

encoders = nn.ModuleList([nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8)) for _ in range(2)])
optimizer = torch.optim.Adam(encoders.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)


def similarity(pair):
    left, right = (nn.functional.normalize(encoder(x), dim=1) for encoder, x in zip(encoders, pair))
    return left @ right.T / 0.1


for epoch in range(10):
    encoders.train()
    for pair in train:
        scores = similarity(pair)
        loss = nn.functional.cross_entropy(scores, torch.arange(len(scores)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    encoders.eval()
    with torch.no_grad():
        best = similarity(held_out).topk(5, dim=1).indices
        hits = (best == torch.arange(len(best))[:, None]).any(1)
    scheduler.step(100 * hits.float().mean())  # expect: AD122
