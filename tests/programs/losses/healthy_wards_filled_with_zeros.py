# guards: AD636 AD622
"""Vital signs of patients over stays of different lengths, filled up by hand in three ways, and read where they end."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

torch.manual_seed(14)


def stays(count=20):
    return [torch.randn(int(n), 3).cumsum(0) * 0.3 for n in torch.randint(3, 12, (count,))]


def behind(series):
    most = max(map(len, series))
    return torch.stack([torch.cat([each, each.new_zeros(most - len(each), 3)]) for each in series])


def in_front(series):
    table = torch.zeros(len(series), max(map(len, series)), 3)
    for row, each in enumerate(series):
        table[row, -len(each) :] = each
    return table


def written(series):
    table = torch.zeros(len(series), max(map(len, series)), 3)
    for row, each in enumerate(series):
        table[row, : len(each)] = each
    return table


class Ward(nn.Module):
    def __init__(self):
        super().__init__()
        self.packed, self.whole, self.each = (nn.GRU(3, 16, batch_first=True) for _ in range(3))
        self.out = nn.Linear(48, 1)

    def forward(self, series):
        lengths = torch.tensor([len(each) for each in series])
        _, final = self.packed(pack_padded_sequence(behind(series), lengths, batch_first=True, enforce_sorted=False))
        states, _ = self.whole(in_front(series))
        steps, _ = self.each(written(series))
        ends = steps[torch.arange(len(series)), lengths - 1]
        return self.out(torch.cat([final[0], states[:, -1], ends], dim=1)).squeeze(1)


ward = Ward()
optimizer = torch.optim.AdamW(ward.parameters(), lr=3e-3)
for step in range(40):
    series = stays()
    risk = torch.stack([each[-1].sum() + each[:, 0].amax() for each in series])
    loss = nn.functional.smooth_l1_loss(ward(series), risk)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
