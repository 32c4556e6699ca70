"""A denoiser of small images: the last batch is short, and the cosine is as long as all epochs have images."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def waves(count):
    phase = torch.rand(count, 1, 1, 1) * 6
    grid = torch.linspace(0, 6, 12)
    return torch.sin(grid[None, None, :, None] + phase) * torch.cos(grid[None, None, None, :] - phase)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))

    def forward(self, noisy):
        return noisy - self.body(noisy)


torch.manual_seed(4)
dataset = TensorDataset(waves(150))
loader = DataLoader(dataset, 8, shuffle=True)
held_out = DataLoader(TensorDataset(waves(24)), 8)
net, epochs = Denoiser(), 4
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(dataset))
for epoch in range(epochs):
    net.train()
    for (clean,) in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.mse_loss(net(clean + 0.3 * torch.randn_like(clean)), clean)
        loss.backward()
        optimizer.step()
        cosine.step()  # expect: AD115
    net.eval()
    with torch.no_grad():
        worst = max(nn.functional.mse_loss(net(clean + 0.3 * torch.randn_like(clean)), clean) for (clean,) in held_out)
    print(epoch, f"{worst:.4f}")
