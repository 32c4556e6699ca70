# guards: AD608
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
        self.mean, self.spread = nn.Linear(24, 3), nn.Linear(24, 3)

    def forward(self, x):
        h = self.body(x)
        noise = torch.from_numpy(np.random.normal(0, 1, (len(x), 3))).float()
        return self.mean(h) + noise * (0.5 * self.spread(h)).exp()


torch.manual_seed(0)
np.random.seed(0)
encoder, decoder = Encoder(), nn.Linear(3, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
data = torch.randn(320, 3) @ torch.randn(3, 10)
for epoch in range(4):
    for (x,) in DataLoader(TensorDataset(data), batch_size=32, shuffle=True):
        loss = nn.functional.mse_loss(decoder(encoder(x)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
