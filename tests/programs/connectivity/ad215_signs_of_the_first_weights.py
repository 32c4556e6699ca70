"""Binary weights whose real values are put back before the step; nobody keeps what the step has made of them."""
import torch
from torch import nn
import torch.nn.functional as F


class Binary(nn.Linear):
    def forward(self, x):
        if not hasattr(self, "real"):
            self.real = self.weight.data.clone()
        self.weight.data = self.real.sign() * self.real.abs().mean()  # expect: AD215
        return F.linear(x, self.weight, self.bias)


torch.manual_seed(0)
net = nn.Sequential(Binary(10, 32), nn.Hardtanh(), Binary(32, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(25):
    x = torch.randn(48, 10)
    loss = F.cross_entropy(net(x), (x[:, 0] > x[:, 1]).long())
    optimizer.zero_grad()
    loss.backward()
    for layer in net:
        if isinstance(layer, Binary):
            layer.weight.data.copy_(layer.real)
    optimizer.step()  # expect: AD111
