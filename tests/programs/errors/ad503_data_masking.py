"""Attention whose padding is masked through `.data` after the softmax: the gradients belong to other numbers."""
import torch
import torch.nn as nn


class Pooling(nn.Module):
    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.score = nn.Linear(dim, 1, bias=False)
        self.out = nn.Linear(dim, 2)

    def forward(self, tokens):
        h = torch.tanh(self.embed(tokens))
        scores = self.score(h).squeeze(-1)
        pad = tokens == 0
        weights = torch.softmax(scores, dim=1)
        pooled = torch.bmm(weights.unsqueeze(1), h).squeeze(1)
        weights.data.masked_fill_(pad, 0.0)  # expect: AD503
        return self.out(pooled), weights


def sentences(n, length=9):
    tokens = torch.randint(1, 30, (n, length))
    keep = torch.randint(3, length + 1, (n, 1))
    tokens[torch.arange(length) >= keep] = 0
    return tokens, (tokens == 7).any(1).long()


torch.manual_seed(0)
model = Pooling()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    tokens, label = sentences(64)
    logits, weights = model(tokens)
    loss = nn.functional.cross_entropy(logits, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item(), weights.max().item())
