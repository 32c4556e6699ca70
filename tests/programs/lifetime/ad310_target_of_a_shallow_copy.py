"""Deep Q-learning on a chain; the target network is a shallow copy."""
import copy
import torch
from torch import nn
torch.manual_seed(0)
class QNet(nn.Module):
    def __init__(self, n=6, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 32), nn.ReLU())
        self.head = nn.Linear(32, actions)
    def forward(self, x):
        return self.head(self.body(x))
online = QNet()
target = copy.copy(online)  # expect: AD310
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
for step in range(40):
    s, s2 = torch.randn(64, 6), torch.randn(64, 6)
    a = torch.randint(0, 3, (64,))
    r = s[:, 0] * (a == 1).float()
    done = (torch.rand(64) < 0.1).float()
    with torch.no_grad():
        y = r + 0.95 * (1 - done) * target(s2).max(1).values
    q = online(s).gather(1, a[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(q, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 9:
        target.load_state_dict(online.state_dict())
