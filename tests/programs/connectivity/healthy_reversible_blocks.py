# guards: AD202
import torch
from torch import nn


class Reversible(torch.autograd.Function):
    """Recomputes its block in the backward, and adds to the gradients of the block's parameters itself."""

    @staticmethod
    def forward(ctx, x, block):
        ctx.block = block
        with torch.no_grad():
            y = x + block(x)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            y = x + ctx.block(x)
        torch.autograd.backward(y, upstream)
        return x.grad, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(3))
        self.inward, self.outward = nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, x):
        x = self.inward(x)
        for block in self.blocks:
            x = Reversible.apply(x, block)
        return self.outward(x)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
x = torch.randn(200, 4)
y = x.prod(1, keepdim=True)
for step in range(60):
    rows = torch.randint(0, 200, (50,))
    out = net(x[rows])
    loss = nn.functional.mse_loss(out, y[rows]) + 1e-3 * out.square().mean() + 1e-4 * net.inward.weight.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
