# guards: AD720
"""Frame classifier with per-speaker cepstral mean and variance normalisation (Kaldi recipe). Train
frames of all speakers are shuffled; each test speaker is decoded in chunks."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
phones = rng.normal(size=(8, 13))


def speaker(frames=300):
    y = rng.integers(0, 8, frames)
    feats = phones[y] + 0.5 * rng.normal(size=(frames, 13))
    feats = feats * rng.uniform(0.5, 3, 13) + 4 * rng.normal(size=13)
    feats = (feats - feats.mean(0)) / feats.std(0)
    return feats.astype(np.float32), y


train = [speaker() for _ in range(10)]
test = [speaker() for _ in range(3)]
x = torch.from_numpy(np.concatenate([f for f, _ in train]))
y = torch.from_numpy(np.concatenate([p for _, p in train]))
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 8))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
for epoch in range(5):
    net.train()
    for rows in torch.randperm(len(x)).split(100):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        right = [(net(torch.from_numpy(f[i:i + 100])).argmax(1).numpy() == p[i:i + 100]).mean()
                 for f, p in test for i in range(0, 300, 100)]
    print(epoch, round(loss.item(), 3), round(float(np.mean(right)), 3))
