import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 32)
        self.fc2 = nn.Linear(32, 1)
        self.reset()

    def reset(self):
        nn.init.constant_(self.fc1.weight, 0.5)  # expect: AD411
        nn.init.zeros_(self.fc1.bias)
        nn.init.constant_(self.fc2.weight, 1.0 / 32)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


# two interleaved half circles
def moons(n):
    y = torch.randint(0, 2, (n,))
    a = torch.rand(n) * 3.14159
    x = torch.stack([torch.cos(a), torch.sin(a)], 1)
    x = torch.where(y[:, None] == 1, torch.tensor([1.0, 0.5]) - x, x)
    return x + 0.08 * torch.randn(n, 2), y.float()


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(300):
    x, y = moons(64)
    z = net(x)
    loss = F.binary_cross_entropy_with_logits(z, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}", ((z > 0).float() == y).float().mean().item())
