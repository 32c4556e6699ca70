"""A policy over texts: the log-probability of each token is taken where the model has seen it already."""

import torch
from torch import nn


class Causal(nn.Module):
    def __init__(self, vocabulary=20, width=32):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(16, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 1), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        length = tokens.shape[1]
        mask = torch.triu(torch.full((length, length), float("-inf")), 1)
        return self.head(self.body(self.embed(tokens) + self.place(torch.arange(length)), mask=mask))


torch.manual_seed(0)
policy = Causal()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for _ in range(12):
    with torch.no_grad():
        tokens = torch.randint(0, 20, (16, 3))
        for _ in range(8):
            likely = policy(tokens)[:, -1].softmax(-1)
            tokens = torch.cat([tokens, torch.multinomial(likely, 1)], 1)
        reward = (tokens[:, 3:] % 2 == 0).float().mean(1)
    scores = policy(tokens).log_softmax(-1)  # expect: AD621
    taken = torch.gather(scores, 2, tokens[:, :, None])[..., 0][:, 3:]
    loss = -(taken.sum(1) * (reward - reward.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
