import torch

torch.manual_seed(3)
w = torch.nn.Parameter(torch.randn(6, 2) * 0.3)
b = torch.nn.Parameter(torch.zeros(2))
second = [torch.zeros_like(w), torch.zeros_like(b)]
x = torch.randn(80, 6)
x[:, 4] = 0
y = x[:, :2] * 2
for step in range(25):
    loss = (x @ w + b - y).square().mean()
    loss.backward()
    with torch.no_grad():
        for p, s in zip([w, b], second):
            s.mul_(0.9).add_(0.1 * p.grad**2)
            p -= 0.01 * p.grad / s.sqrt()  # expect: AD401
            p.grad = None
