"""A module computes part of its features in NumPy, and what lies before learns nothing."""
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
        phase = phase.detach().numpy()  # expect: AD202
        waves = torch.from_numpy(np.concatenate([np.sin(phase), np.cos(phase)], axis=1))
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
