# guards: AD116
"""A network of plain tensors in a dict; each update returns a new dict, which is trained on next."""

import torch


def init(sizes):
    params = {}
    for i, (m, n) in enumerate(zip(sizes[:-1], sizes[1:])):
        params[f"w{i}"] = (torch.randn(m, n) / m**0.5).requires_grad_()
        params[f"b{i}"] = torch.zeros(n, requires_grad=True)
    return params


def net(params, x, depth=2):
    for i in range(depth):
        x = x @ params[f"w{i}"] + params[f"b{i}"]
        if i < depth - 1:
            x = torch.relu(x)
    return x


def update(params, lr):
    with torch.no_grad():
        fresh = {name: p - lr * p.grad for name, p in params.items()}
    return {name: p.requires_grad_() for name, p in fresh.items()}


torch.manual_seed(1)
params = init([5, 12, 1])
data = torch.randn(300, 5)
labels = data.pow(2).sum(1, keepdim=True)
for epoch in range(4):
    for start in range(0, 300, 30):
        x, y = data[start : start + 30], labels[start : start + 30]
        loss = (net(params, x) - y).abs().mean()
        loss.backward()
        params = update(params, lr=0.05)
    print(epoch, float(loss))
