# guards: AD405 AD303
import torch
from torch import nn

torch.manual_seed(64)
lstm = nn.LSTM(3, 24, batch_first=True)
head = nn.Linear(24, 3)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=3e-3)
series = torch.sin(torch.arange(0, 900).float() / 7)[:, None] * torch.ones(3)
hidden = None
for start in range(0, 880, 15):
    x = series[None, start : start + 15] + 0.05 * torch.randn(1, 15, 3)
    y = series[None, start + 1 : start + 16]
    out, hidden = lstm(x, hidden)
    hidden = tuple(each.detach() for each in hidden)
    loss = nn.functional.mse_loss(head(out), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
