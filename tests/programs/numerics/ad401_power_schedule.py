import numpy as np
import torch

torch.manual_seed(2)
np.seterr(all="ignore")
X = torch.randn(128, 6)
Y = torch.sin(X.sum(1, keepdim=True))
model = torch.nn.Sequential(torch.nn.Linear(6, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
horizon = np.float64(20)


def poly(step):
    return np.power(1 - step / horizon, 0.9)


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, poly)
for step in range(30):
    pick = torch.randint(0, 128, (32,))
    loss = torch.nn.functional.mse_loss(model(X[pick]), Y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: AD401
    scheduler.step()
