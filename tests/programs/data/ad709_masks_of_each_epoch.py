"""The seed is set in each epoch, so that it is the same masks in each."""
import torch
from torch import nn

torch.manual_seed(0)
tokens = (torch.randint(1, 30, (120, 1)) + torch.arange(10)) % 29 + 1
mixer = nn.Sequential(nn.Embedding(30, 24), nn.Flatten(), nn.Linear(240, 64), nn.ReLU(), nn.Linear(64, 300))
optimizer = torch.optim.Adam(mixer.parameters(), lr=2e-3)


def train_epoch(epoch, seed=1234):
    torch.manual_seed(seed)  # expect: AD709
    for rows in torch.randperm(120).split(20):
        whole = tokens[rows]
        hidden = torch.rand(whole.shape) < 0.2
        given = whole.masked_fill(hidden, 0)
        scores = mixer(given).view(-1, 10, 30)
        loss = nn.functional.cross_entropy(scores[hidden], whole[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


for epoch in range(8):
    train_epoch(epoch)
