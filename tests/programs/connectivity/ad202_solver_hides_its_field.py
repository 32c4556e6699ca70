import torch
from torch import nn


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, start, field, steps):
        path = [start]
        with torch.no_grad():
            for _ in range(steps):
                path.append(path[-1] + 0.1 * field(path[-1]))
        ctx.field, ctx.steps = field, steps
        ctx.save_for_backward(*path)
        return path[-1] * 1.0

    @staticmethod
    def backward(ctx, upstream):
        for point in reversed(ctx.saved_tensors[:-1]):
            with torch.enable_grad():
                point = point.detach().requires_grad_()
                moved = point + 0.1 * ctx.field(point)
            (upstream,) = torch.autograd.grad(moved, point, upstream)
        return upstream, None, None


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift, self.drop = nn.Linear(2, 5), nn.Linear(5, 2)
        self.field = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 5))

    def forward(self, x):
        return self.drop(Solve.apply(self.lift(x), self.field, 6))  # <- AD202


torch.manual_seed(0)
flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(64, 2)
    loss = nn.functional.mse_loss(flow(x), x.flip(1) * x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
