# guards: AD636
"""The total of what each customer will spend: running totals are held through the padding, so that the last is right."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

torch.manual_seed(4)


def visits(count):
    lengths = torch.randint(2, 9, (count,)).tolist()
    return [torch.rand(length, 3) for length in lengths]


class Spending(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.LSTM(3, 12, batch_first=True)
        self.amount = nn.Linear(12, 1, bias=False)

    def forward(self, baskets):
        packed, _ = self.memory(pack_sequence(baskets, enforce_sorted=False))
        states, _ = pad_packed_sequence(packed, batch_first=True)
        totals = self.amount(states).cumsum(dim=1)
        return totals[:, -1, 0]


model = Spending()
adam = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(40):
    baskets = visits(16)
    spent = torch.stack([each.sum() for each in baskets])
    adam.zero_grad()
    nn.functional.mse_loss(model(baskets), spent).backward()
    adam.step()
