# guards: AD220 AD204
"""Linear regression in the tutorial style: leaves made with requires_grad, updated by hand from .grad."""
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 200)
y = torch.sin(3 * x)
a, b, c, d = (torch.randn((), requires_grad=True) for _ in range(4))
lr = 0.2
for t in range(40):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= lr * p.grad
            p.grad = None
    if t % 10 == 9:
        print(t + 1, loss.item())
print(f"y = {a.item():.2f} + {b.item():.2f} x + {c.item():.2f} x^2 + {d.item():.2f} x^3")
