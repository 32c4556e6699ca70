"""The likelihood of labels by scores and a level of each class, written out; the optimizer is given the scores alone."""

import torch
from torch import nn


class Labels(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Linear(4, 3)
        self.levels = nn.Parameter(torch.zeros(3).uniform_(-0.5, 0.5))

    def forward(self, x, labels):
        scores = self.scores(x)
        chosen = scores.gather(1, labels.unsqueeze(1)).squeeze(1) + self.levels[labels]
        return (torch.logsumexp(scores + self.levels, 1) - chosen).mean()


torch.manual_seed(0)
model = Labels()
optimizer = torch.optim.AdamW(model.scores.parameters(), lr=0.02)  # expect: AD204
for _ in range(25):
    x = torch.randn(64, 4)
    loss = model(x, (x[:, :3] + torch.tensor([1.0, 0.0, -1.0])).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
