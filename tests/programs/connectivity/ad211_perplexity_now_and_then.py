"""A language model whose held-out perplexity is looked at every ten iterations, in train mode and with gradients on."""
import math

import torch
from torch import nn

torch.manual_seed(0)
text = torch.randint(0, 32, (4000,)).cumsum(0) % 32
train, held_out = text[:3600], text[3600:]
BLOCK = 16


class LM(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(32, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 32)

    def forward(self, tokens, targets):
        hidden, _ = self.rnn(self.embed(tokens))
        logits = self.out(self.drop(hidden))
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(data, size=16):
    starts = torch.randint(len(data) - BLOCK - 1, (size,))
    rows = starts[:, None] + torch.arange(BLOCK)
    return data[rows], data[rows + 1]


def estimate_loss(model, batches=3):
    losses = []
    for _ in range(batches):
        loss = model(*get_batch(held_out))  # expect: AD211
        losses.append(loss.item())
    return sum(losses) / len(losses)


model = LM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for iteration in range(40):
    loss = model(*get_batch(train))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 10 == 9:
        print(iteration, math.exp(estimate_loss(model)))
