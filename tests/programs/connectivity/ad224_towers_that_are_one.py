"""Two-stream network whose streams are one module twice."""
import torch
from torch import nn
torch.manual_seed(0)
def tower(d):
    return nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 16))
class Fusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.towers = nn.ModuleList([tower(10)] * 2)  # expect: AD224
        self.head = nn.Linear(32, 1)
    def forward(self, audio, video):
        a, v = self.towers[0](audio), self.towers[1](video)
        return self.head(torch.cat([a, v], 1))
net = Fusion()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(40):
    audio, video = torch.randn(32, 10), torch.rand(32, 10)
    loss = nn.functional.mse_loss(net(audio, video), (audio.sum(1) * video.mean(1))[:, None])
    opt.zero_grad()
    loss.backward()
    opt.step()
