import torch
from torch import nn

class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad):  # expect: AD507
        return grad

torch.manual_seed(0)
first, second = nn.Linear(8, 16), nn.Linear(16, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for _ in range(10):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(second(MyReLU.apply(first(x))), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
