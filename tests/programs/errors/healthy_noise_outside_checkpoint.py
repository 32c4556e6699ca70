# guards: AD510
"""The noise is drawn outside the checkpointed segment and handed in."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class NoisyLayer(nn.Module):
    """Multiplies its activations by noise, drawn from a generator that does not depend on the global seed."""

    def __init__(self, dim, sigma=0.3):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.sigma = sigma
        self.generator = torch.Generator().manual_seed(123)

    def noise(self, like):
        return 1 + self.sigma * torch.randn(like.shape, generator=self.generator)

    def forward(self, x, noise):
        return torch.tanh(self.linear(x * noise))


class Net(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.inp = nn.Linear(5, dim)
        self.noisy = NoisyLayer(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        h = torch.relu(self.inp(x))
        h = checkpoint(self.noisy, h, self.noisy.noise(h), use_reentrant=False)
        return self.out(h)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(20):
    x = torch.randn(64, 5)
    loss = nn.functional.mse_loss(net(x), x[:, :1].abs())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
