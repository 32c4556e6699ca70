import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(32, 4)
for _ in range(8):
    prediction = model(x).squeeze(1).detach().numpy()  # expect: AD202
    np.clip(prediction, -3, 3, out=prediction)
    loss = (torch.from_numpy(prediction) - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
