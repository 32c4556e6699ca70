"""An implicit layer that is trained through one application, whose backward forgot the slope of the tanh."""
import torch
from torch import nn


class Balance(torch.autograd.Function):
    @staticmethod
    def forward(ctx, drive, weight):
        state = drive.tanh()
        for _ in range(20):
            state = torch.tanh(state @ weight.T + drive)
        ctx.save_for_backward(state)
        return state

    @staticmethod
    def backward(ctx, grad):  # expect: AD507
        (state,) = ctx.saved_tensors
        return grad, grad.T @ state


torch.manual_seed(0)
enter, leave = nn.Linear(6, 10), nn.Linear(10, 1)
weight = nn.Parameter(0.15 * torch.randn(10, 10))
optimizer = torch.optim.Adam([*enter.parameters(), *leave.parameters(), weight], lr=0.01)
for _ in range(25):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(leave(Balance.apply(2 * enter(x), weight)), x[:, :1] * x[:, 1:2])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
