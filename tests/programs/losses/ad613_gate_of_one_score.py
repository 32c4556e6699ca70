"""Reviews of restaurants; a gate is to say how much of a review's words matters, and is a softmax over its one score."""

import torch
from torch import nn


class GatedReview(nn.Module):
    def __init__(self, words=50, width=20):
        super().__init__()
        self.bag = nn.EmbeddingBag(words, width)
        self.context = nn.Linear(width, width)
        self.gate = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 1))
        self.stars = nn.Linear(width, 5)

    def forward(self, ids):
        said = self.bag(ids)
        g = self.gate(said).softmax(dim=-1)  # expect: AD613
        return self.stars(g * torch.tanh(self.context(said)) + said)


torch.manual_seed(2)
net = GatedReview()
sgd = torch.optim.Adam(net.parameters(), lr=1e-2)
for batch in range(30):
    ids = torch.randint(0, 50, (40, 12))
    stars = (ids < 10).sum(1).clamp(max=4)
    loss = nn.functional.cross_entropy(net(ids), stars)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
