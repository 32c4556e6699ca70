# guards: AD210
"""A language model whose `generate` restores the mode it found."""
import torch
import torch.nn as nn
from torch.nn import functional as F


class WordModel(nn.Module):
    def __init__(self, vocab=16, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.drop = nn.Dropout(0.2)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        h, _ = self.rnn(self.drop(self.embed(idx)))
        return self.head(self.drop(h))

    @torch.no_grad()
    def generate(self, start, n):
        was_training = self.training
        self.eval()
        idx = torch.tensor([[start]])
        for _ in range(n):
            probs = F.softmax(self(idx)[:, -1], dim=-1)
            idx = torch.cat([idx, torch.multinomial(probs, 1)], dim=1)
        self.train(was_training)
        return idx[0].tolist()


def get_batch(n=24, length=10):
    start, stride = torch.randint(0, 16, (n, 1)), torch.randint(1, 3, (n, 1))
    seq = (start + stride * torch.arange(length + 1)) % 16
    return seq[:, :-1], seq[:, 1:]


torch.manual_seed(0)
model = WordModel()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(30):
    if step % 6 == 0:
        print(step, model.generate(3, 8))
    x, y = get_batch()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
