# guards: AD725
"""Which of twenty positions is the middle of an event: the mean of where it begins and ends."""

import torch
from torch import nn

torch.manual_seed(0)
begin = torch.randint(0, 14, (320,))
end = begin + torch.randint(0, 6, (320,))
at = torch.arange(20)
signal = ((at >= begin[:, None]) & (at <= end[:, None])).float() + 0.2 * torch.randn(320, 20)
middle = (begin + end) // 2
weighed = (0.4 * begin + 0.6 * end).long()
model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 40))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(40):
    rows = torch.randint(320, (32,))
    first, second = model(signal[rows]).chunk(2, 1)
    loss = nn.functional.cross_entropy(first, middle[rows]) + nn.functional.cross_entropy(second, weighed[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
