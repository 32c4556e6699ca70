# guards: AD507
"""A custom activation with its own backward."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MishFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.tanh(F.softplus(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.tanh(F.softplus(x))
        return grad_output * (t + x * (1 - t * t) * torch.sigmoid(x))


class Mish(nn.Module):
    def forward(self, x):
        return MishFunction.apply(x)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 24), Mish(), nn.Linear(24, 24), Mish(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(40):
    x = torch.randn(64, 3)
    y = torch.sin(x[:, :1]) * x[:, 1:2]
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, loss.item())
