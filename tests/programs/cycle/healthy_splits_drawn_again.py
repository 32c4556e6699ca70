# guards: AD109 AD706
"""Random splits, drawn anew four times, for each of which a network gets new weights through `.data`."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
x = torch.randn(60, 5)
data = TensorDataset(x, x.sum(1, keepdim=True))
net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))


def weights_init(m):
    if isinstance(m, nn.Linear):
        m.weight.data.normal_(0, 0.3)
        m.bias.data.fill_(0)


for repeat in range(4):
    kept, held = random_split(data, [45, 15])
    net.apply(weights_init)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        for a, b in DataLoader(kept, batch_size=15, shuffle=True):
            loss = nn.functional.mse_loss(net(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=15):
            print(nn.functional.mse_loss(net(a), b).item())
