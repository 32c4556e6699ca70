"""Four kinds of leaves; the labels come from a program that marked its own kind with 1 and all others with -1."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
leaves = torch.randn(320, 7)
kind = (leaves @ torch.randn(7, 4)).argmax(1)
marks = torch.full((320, 4), -1.0)
marks[torch.arange(320), kind] = 1.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(7, 32), nn.ELU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.body(x))


net, criterion = Net(), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for x, y in DataLoader(TensorDataset(leaves, marks), batch_size=20, shuffle=True):
        loss = criterion(net(x), y)  # expect: AD611
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
