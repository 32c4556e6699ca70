"""A small encoder that tells whether the first and the last token of a sequence are the same."""
import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, t):
        return t.view(t.size(0), self.heads, t.size(1), -1)  # expect: AD617

    def forward(self, x):
        n, length, width = x.shape
        mixed = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x)))
        return self.out(mixed.transpose(1, 2).reshape(n, length, width))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Encoder(nn.Module):
    def __init__(self, words=8, length=9, width=24, heads=4):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.positions = nn.Embedding(length, width)
        self.layers = nn.Sequential(Layer(width, heads), Layer(width, heads))
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions(torch.arange(tokens.size(1)))
        return self.head(self.layers(x).mean(1))


torch.manual_seed(0)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(30):
    tokens = torch.randint(0, 8, (32, 9))
    tokens[::2, -1] = tokens[::2, 0]
    loss = F.cross_entropy(model(tokens), (tokens[:, 0] == tokens[:, -1]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
