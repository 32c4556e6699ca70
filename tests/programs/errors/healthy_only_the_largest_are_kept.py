# guards: AD507
"""Linear layers that save memory: of what came in, only the largest values are kept for the weight's gradient; and one
that sends its gradient back through its largest weights alone."""

import torch
from torch import nn


def largest(values, share):
    threshold = values.abs().flatten().topk(max(1, int(share * values.numel()))).values[-1]
    return values * (values.abs() >= threshold)


class KeepsLarge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(largest(x, 0.25).to_sparse(), weight)
        return x @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad):
        kept, weight = ctx.saved_tensors
        return grad @ weight, torch.sparse.mm(kept.t(), grad).t(), grad.sum(0)


class ThroughLarge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return torch.addmm(bias, x, weight.t())

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ largest(weight, 0.5), grad.t() @ x, grad.sum(0)


class Layer(nn.Linear):
    def __init__(self, inputs, outputs, function):
        super().__init__(inputs, outputs)
        self.function = function

    def forward(self, x):
        return self.function.apply(x, self.weight, self.bias)


torch.manual_seed(0)
model = nn.Sequential(
    Layer(20, 32, KeepsLarge), nn.ReLU(), Layer(32, 32, ThroughLarge), nn.Tanh(), Layer(32, 3, KeepsLarge)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
true = torch.randn(20, 3)
for step in range(40):
    x = torch.randn(64, 20)
    loss = nn.functional.cross_entropy(model(x), (x @ true).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
