# guards: AD116
import torch
from torch.func import vjp

torch.manual_seed(0)
w = torch.randn(5, 1)
m = torch.zeros(5, 1)
x = torch.randn(100, 5)
y = x @ torch.ones(5, 1)
for i in range(80):
    out, pull = vjp(lambda w: x @ w, w)
    (g,) = pull(2 * (out - y) / len(x))
    m = 0.9 * m + g
    w = w - 0.02 * m
print(w.flatten())
