import torch
import torch.nn as nn

torch.manual_seed(52)

# radar intensities in dB
n = 1200
cls = torch.randint(0, 3, (n,))
base = torch.tensor([[-30.0, -55.0, -40.0, -60.0], [-45.0, -35.0, -60.0, -50.0], [-55.0, -50.0, -35.0, -40.0]])
db = (base[cls] + 3 * torch.randn(n, 4)) / 10


class Gate(nn.Module):
    """non-negative mixing of channels"""

    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.rand(o, i) * 0.5)
        self.b = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return nn.functional.linear(x, self.w.abs(), self.b)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = Gate(4, 32)
        self.act = nn.ReLU()
        self.fc = nn.Linear(32, 3)

    def forward(self, x):
        z = self.mix(x)
        z = self.act(z)  # expect: AD408
        return self.fc(z)


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(250):
    idx = torch.randint(0, n, (64,))
    logits = net(db[idx])
    loss = nn.functional.cross_entropy(logits, cls[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.4f}", f"{(logits.argmax(1) == cls[idx]).float().mean():.2f}")
