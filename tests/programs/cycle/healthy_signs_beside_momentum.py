# guards: AD112
# hinted: AD112
"""Each step is a small one by the sign of the gradient and a larger one by its momentum, over the same weights."""

import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, letters=10, width=16):
        super().__init__()
        self.table = nn.Embedding(letters, width)
        self.out = nn.Linear(width, letters)

    def forward(self, word):
        return self.out(torch.tanh(self.table(word)))


def move(*optimizers):
    for optimizer in optimizers:
        optimizer.step()


torch.manual_seed(21)
model = Translator()
by_sign = torch.optim.Rprop(model.parameters(), lr=1e-3)
by_momentum = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.8)
code = torch.randperm(10)
for step in range(40):
    words = torch.randint(0, 10, (48,))
    loss = nn.functional.cross_entropy(model(words), code[words])
    model.zero_grad()
    loss.backward()
    move(by_sign, by_momentum)
print(loss.item())
