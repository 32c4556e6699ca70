# guards: AD217
"""Seq2seq decoder that feeds its own greedy tokens back as torch.tensor([...]) of numbers, teacher forcing half of the time."""
import random

import torch
from torch import nn

SOS, V = 0, 9


class Decoder(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.enc = nn.Embedding(V, h)
        self.emb = nn.Embedding(V, h)
        self.rnn = nn.GRUCell(h, h)
        self.out = nn.Linear(h, V)

    def forward(self, src, tgt, teacher_forcing):
        h = self.enc(src).cumsum(1)[:, -1].tanh()
        tokens = [SOS] * len(src)
        logits = []
        for t in range(tgt.size(1)):
            h = self.rnn(self.emb(torch.tensor(tokens)), h)
            step = self.out(h)
            logits.append(step)
            if teacher_forcing:
                tokens = tgt[:, t].tolist()
            else:
                tokens = [row.argmax().item() for row in step]
        return torch.stack(logits, 1)


random.seed(0)
torch.manual_seed(0)
net = Decoder()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for it in range(40):
    src = torch.randint(1, V, (32, 3))
    tgt = src.sort(1).values
    logits = net(src, tgt, random.random() < 0.5)
    loss = criterion(logits.flatten(0, 1), tgt.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 9:
        print(it + 1, loss.item())
