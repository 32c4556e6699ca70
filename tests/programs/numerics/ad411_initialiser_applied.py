"""GRU sentiment toy."""

import torch
import torch.nn as nn

torch.manual_seed(65)


class Sentiment(nn.Module):
    def __init__(self, vocab=50, e=12, h=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, e)
        self.gru = nn.GRU(e, h, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(h, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x):
        _, h = self.gru(self.emb(x))
        return self.mlp(h[0])


def init_weights(m):
    if isinstance(m, nn.Linear):
        m.weight.data.fill_(0.1)  # expect: AD411
        m.bias.data.zero_()
        if m.out_features == 2:
            m.weight.data[0].mul_(-1)


def make(n=32):
    x = torch.randint(0, 50, (n, 10))
    score = (x < 15).sum(1) - (x > 32).sum(1)
    return x, (score > 0).long()


model = Sentiment()
model.apply(init_weights)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x, y = make()
    out = model(x)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        print(step, round(loss.item(), 4))
