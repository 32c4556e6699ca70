# guards: AD202
"""A training loop that goes through NumPy for its metric only."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)


class FourierNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(1, 8)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        phase = self.embed(x)
        waves = torch.cat([torch.sin(phase), torch.cos(phase)], dim=1)
        return self.mlp(waves)


def r2_score(y_true, y_pred):
    residual = np.sum((y_true - y_pred) ** 2)
    return 1 - residual / np.sum((y_true - y_true.mean()) ** 2)


model = FourierNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(60):
    x = torch.rand(128, 1) * 4 - 2
    y = torch.sin(3 * x)
    out = model(x)
    loss = nn.MSELoss()(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 15 == 0:
        print(epoch, loss.item(), r2_score(y.numpy(), out.detach().numpy()))
