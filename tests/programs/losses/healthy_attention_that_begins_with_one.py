# guards: AD613
"""A decoder that attends to what it has said so far: one word at first, more later; and a pool over positions."""
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, words=7, width=16):
        super().__init__()
        self.embed, self.cell = nn.Embedding(words, width), nn.GRUCell(2 * width, width)
        self.query, self.out = nn.Linear(width, width), nn.Linear(width, words)

    def forward(self, tokens):
        state, said, scores = torch.zeros(len(tokens), 16), [], []
        for token in self.embed(tokens).unbind(1):
            said.append(token)
            memory = torch.stack(said, 1)
            weights = torch.softmax((memory @ self.query(state).unsqueeze(2)).squeeze(2), dim=1)
            state = self.cell(torch.cat([token, (weights.unsqueeze(2) * memory).sum(1)], 1), state)
            scores.append(self.out(state))
        return torch.stack(scores, 1)


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.head = nn.Linear(5, 1), nn.Linear(5, 2)

    def forward(self, x):
        return self.head((torch.softmax(self.score(x), dim=1) * x).sum(1))


torch.manual_seed(0)
decoder, pool = Decoder(), Pool()
optimizer = torch.optim.Adam([*decoder.parameters(), *pool.parameters()], lr=5e-3)
for step in range(24):
    tokens = torch.randint(0, 7, (16, 6))
    loss = nn.functional.cross_entropy(decoder(tokens).flatten(0, 1), tokens.cumsum(1).remainder(7).flatten())
    x = torch.randn(16, 8, 5)
    loss = loss + nn.functional.cross_entropy(pool(x), (x[:, :, 0].amax(1) > 1.4).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
