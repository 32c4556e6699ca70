# guards: AD216 AD223
"""First-order MAML by functional_call: inner gradients without create_graph, the outer loss flows into the initial weights."""
import torch
from torch import nn
from torch.func import functional_call


def sample_task(n=10):
    amp, phase = 0.5 + torch.rand(()), 3.14 * torch.rand(())
    x = 6 * torch.rand(2 * n, 1) - 3
    y = amp * torch.sin(x + phase)
    return x[:n], y[:n], x[n:], y[n:]


def adapt(net, params, x, y, lr=0.05, steps=2):
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()))
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params, loss.item()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(25):
    outer, inner = 0.0, 0.0
    for _ in range(3):
        xs, ys, xq, yq = sample_task()
        fast, l_in = adapt(net, dict(net.named_parameters()), xs, ys)
        outer = outer + nn.functional.mse_loss(functional_call(net, fast, (xq,)), yq)
        inner += l_in
    loss = outer / 3
    meta.zero_grad()
    loss.backward()
    meta.step()
    if it % 8 == 0:
        print(it, "outer", loss.item(), "inner", inner / 3)
