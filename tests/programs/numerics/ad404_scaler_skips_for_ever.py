import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
device = "cpu"


class Matcher(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.left = nn.Linear(24, width)
        self.right = nn.Linear(24, width)

    def forward(self, a, b):
        with torch.autocast(device, dtype=torch.float16):
            u, v = self.left(a), self.right(b)
            return u @ v.t()  # expect: AD404


def pairs(n=32):
    shared = torch.randn(n, 24)
    return 200 * (shared + 0.1 * torch.randn(n, 24)), 200 * (shared + 0.1 * torch.randn(n, 24))


model = Matcher()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler(device, init_scale=256.0)
for step in range(25):
    a, b = pairs()
    scores = model(a, b)
    loss = F.cross_entropy(scores.float() / 16, torch.arange(len(scores)))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if step % 5 == 0:
        print(step, loss.item(), scaler.get_scale())
