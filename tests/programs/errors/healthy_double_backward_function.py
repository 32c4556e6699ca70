# guards: AD508 AD507
"""A custom power function that can be differentiated twice, under a gradient penalty."""
import torch
from torch import nn


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3 / 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x**2


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(2, 24)
        self.l2 = nn.Linear(24, 1)

    def forward(self, x):
        return self.l2(torch.tanh(Cube.apply(self.l1(x))))


torch.manual_seed(0)
critic = Critic()
optimizer = torch.optim.Adam(critic.parameters(), lr=3e-3)
for step in range(20):
    real, fake = torch.randn(64, 2) * 0.3 + 1, torch.randn(64, 2)
    mixed = torch.lerp(real, fake, torch.rand(64, 1)).requires_grad_()
    (gradient,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    penalty = ((gradient.norm(dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 5 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item(), penalty.item())
