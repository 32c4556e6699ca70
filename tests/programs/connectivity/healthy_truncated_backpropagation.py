# guards: AD202
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(3, 8), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
signal = torch.sin(torch.arange(0, 40, 0.1)).view(-1, 1).repeat(1, 3) + 0.1 * torch.randn(400, 3)
hidden = torch.zeros(1, 8)
for start in range(0, 80, 8):
    loss = torch.zeros(())
    for now in range(start, start + 8):
        hidden = cell(signal[now : now + 1], hidden)
        loss = loss + nn.functional.mse_loss(head(hidden), signal[now + 1 : now + 2]) / 8
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hidden = hidden.detach()
