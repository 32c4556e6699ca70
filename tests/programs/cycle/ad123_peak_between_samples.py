"""Tides from the places of sun and moon; the ramp is an object that knows how high the rate is to get."""
import torch
from torch import nn

torch.manual_seed(8)
HIGHEST = 4e-3


class Triangle:
    def __init__(self, top, at, end):
        self.top, self.at, self.end = top, at, end

    def __call__(self, hour):
        up, down = (hour + 1) / self.at, (self.end - hour) / (self.end - self.at)
        return self.top * max(0.02, min(up, down, 1.0))


tide = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
adam = torch.optim.Adam(tide.parameters(), lr=HIGHEST)
ramp = torch.optim.lr_scheduler.LambdaLR(adam, Triangle(HIGHEST, 15, 29))  # <- AD123
for hour in range(28):
    angle = torch.rand(64, 2) * 6.28
    seen = torch.cat([angle.sin(), angle.cos()], 1)
    level = (2 * angle[:, :1]).cos() + 0.5 * (2 * angle[:, 1:]).cos()
    miss = nn.functional.smooth_l1_loss(tide(seen), level)
    adam.zero_grad(set_to_none=True)
    miss.backward()
    adam.step()
    ramp.step()
print(miss.item(), ramp.get_last_lr())
