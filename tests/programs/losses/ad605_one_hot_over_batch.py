import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    x = torch.randn(32, 8)
    wanted = nn.functional.one_hot(x[:, :4].argmax(1), 4).float()
    given = torch.softmax(model(x), 0)  # expect: AD605
    loss = nn.functional.mse_loss(given, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
