import torch
from torch import nn

torch.manual_seed(0)
glaze = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))


def fire(optimizer, steps):
    for _ in range(steps):
        oxides = torch.rand(32, 6)
        loss = nn.functional.mse_loss(glaze(oxides), oxides.prod(1, keepdim=True).sqrt())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


rate = 1
fire(torch.optim.Adam(glaze.parameters(), lr=rate / 100), 10)
finishing = torch.optim.SGD(glaze.parameters(), lr=rate // 100)  # expect: AD110
print(fire(finishing, 10))
