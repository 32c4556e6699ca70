# guards: AD605
import torch
from torch import nn

torch.manual_seed(0)
attention, head, pick = nn.Linear(8, 1), nn.Linear(8, 3), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters(), *pick.parameters()], lr=0.01)
for number in range(10):
    bag = torch.randn(16, 8)
    weights = torch.softmax(attention(bag), dim=0)
    loss = nn.functional.cross_entropy(head((weights * bag).sum(0, keepdim=True)), torch.tensor([number % 3]))
    chosen = nn.functional.one_hot(bag[:, 0].argmax(), 16).float().unsqueeze(1)
    loss = loss + nn.functional.binary_cross_entropy(torch.softmax(pick(bag), dim=0), chosen)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
