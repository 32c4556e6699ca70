import torch
from torch import nn


class Standardise(nn.Module):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        spread = centred.pow(2).mean(-1, keepdim=True).sqrt()
        return centred / spread  # <- AD401


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 12, padding_idx=0)
        self.norm, self.tags = Standardise(), nn.Linear(12, 4, bias=False)

    def forward(self, tokens):
        return self.tags(self.norm(self.words(tokens)))


torch.manual_seed(0)
tagger = Tagger()
optimizer = torch.optim.Adam(tagger.parameters(), lr=1e-2)
for step in range(25):
    tokens = torch.randint(1, 30, (8, 10))
    lengths = torch.randint(4, 11, (8,))
    padding = torch.arange(10) >= lengths.unsqueeze(1)
    tags = (tokens % 4).masked_fill(padding, -100)
    scores = tagger(tokens.masked_fill(padding, 0))
    loss = nn.functional.cross_entropy(scores.transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
