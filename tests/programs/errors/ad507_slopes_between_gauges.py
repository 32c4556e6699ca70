"""Water runs along the channels of a delta: the fall between two gauges drives it, and gauges have unknown offsets."""
import torch
from torch import nn


class Fall(torch.autograd.Function):
    @staticmethod
    def forward(ctx, level, upper, lower):
        ctx.save_for_backward(upper, lower)
        ctx.gauges = level.shape
        return level.index_select(0, upper) - level.index_select(0, lower)

    @staticmethod
    def backward(ctx, grad):  # <- AD507
        upper, lower = ctx.saved_tensors
        back = grad.new_zeros(ctx.gauges)
        back.index_add_(0, upper, grad)
        back.index_add_(0, lower, grad)
        return back, None, None


class Delta(nn.Module):
    def __init__(self, gauges, tides):
        super().__init__()
        self.offset = nn.Parameter(torch.zeros(gauges, tides))
        self.rough = nn.Sequential(nn.Linear(tides, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, read, upper, lower):
        fall = Fall.apply(read + self.offset, upper, lower)
        return self.rough(fall).squeeze(1)


torch.manual_seed(8)
GAUGES, CHANNELS, TIDES = 60, 150, 12
upper, lower = torch.randint(0, GAUGES, (2, CHANNELS))
true_offset = 0.4 * torch.randn(GAUGES, 1)
model = Delta(GAUGES, TIDES)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for day in range(40):
    level = torch.randn(GAUGES, TIDES)
    flow = (level[upper] - level[lower]).tanh().mean(1)
    loss = nn.functional.mse_loss(model(level - true_offset, upper, lower), flow)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if day % 10 == 9:
        print(day, loss.item())
