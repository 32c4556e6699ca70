import argparse

import torch
from torch import nn


class AdditiveAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.energy = nn.Linear(width, 1, bias=False)

    def forward(self, state, memory):
        mixed = torch.tanh(self.query(state).unsqueeze(1) + self.key(memory))
        scores = self.energy(mixed).squeeze(2).unsqueeze(1)
        alpha = torch.softmax(scores, dim=0)  # <- AD605
        return torch.bmm(alpha, memory).squeeze(1)


class Reader(nn.Module):
    def __init__(self, width=24, classes=4):
        super().__init__()
        self.gru = nn.GRU(5, width, batch_first=True)
        self.attention = AdditiveAttention(width)
        self.output = nn.Linear(2 * width, classes)

    def forward(self, x):
        memory, last = self.gru(x)
        context = self.attention(last[-1], memory)
        return self.output(torch.cat([context, last[-1]], dim=1))


def batch(size):
    labels = torch.randint(0, 4, (size,))
    x = 0.3 * torch.randn(size, 14, 5)
    x[torch.arange(size), torch.randint(0, 7, (size,)), labels] += 2.0
    return x, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=70)
    args = parser.parse_args()
    torch.manual_seed(0)
    reader, criterion = Reader(), nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(reader.parameters(), lr=1e-3)
    for step in range(args.steps):
        x, labels = batch(30)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(reader(x), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 5.0)
        optimizer.step()
    print(loss.item())


main()
