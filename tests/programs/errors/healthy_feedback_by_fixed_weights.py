# guards: AD507
"""Feedback alignment: errors go back through weights that were drawn once, not through those that are learned."""
import torch
from torch import nn


class Aligned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, feedback):
        ctx.save_for_backward(x, feedback)
        return torch.addmm(bias, x, weight.T)

    @staticmethod
    def backward(ctx, error):
        x, feedback = ctx.saved_tensors
        return error @ feedback, error.T @ x, error.sum(0), None


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.register_buffer("feedback", torch.randn(outputs, inputs) / inputs**0.5)

    def forward(self, x):
        return Aligned.apply(x, self.weight, self.bias, self.feedback)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), Layer(32, 32), nn.Tanh(), Layer(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
teacher = torch.randn(10, 4)
for _ in range(30):
    x = torch.randn(64, 10)
    loss = nn.functional.cross_entropy(model(x), (x @ teacher).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
