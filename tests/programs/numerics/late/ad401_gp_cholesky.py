"""Fit a small Gaussian process by gradient descent on the marginal likelihood."""

import math
import torch

torch.manual_seed(19)

x = torch.linspace(0, 1, 8)
y = 0.8 * x + 0.1 * x**2 - 0.4

log_len = torch.tensor(-3.0, requires_grad=True)
log_amp = torch.tensor(0.0, requires_grad=True)


def kernel(a, b):
    d2 = (a[:, None] - b[None, :]) ** 2
    return torch.exp(2 * log_amp) * torch.exp(-0.5 * d2 / torch.exp(2 * log_len))


def cholesky(a):
    """textbook recursion, returns rows of the lower factor"""
    n = a.shape[0]
    rows = []
    for i in range(n):
        row = []
        for j in range(i):
            s = a[i, j]
            for k in range(j):
                s = s - row[k] * rows[j][k]
            row.append(s / rows[j][j])
        d = a[i, i]
        for r in row:
            d = d - r * r
        row.append(torch.sqrt(d))  # expect: AD401
        rows.append(row)
    return rows


def forward_sub(rows, b):
    out = []
    for i, row in enumerate(rows):
        s = b[i]
        for k in range(i):
            s = s - row[k] * out[k]
        out.append(s / row[i])
    return torch.stack(out)


def nll():
    rows = cholesky(kernel(x, x) + 1e-7 * torch.eye(len(x)))
    z = forward_sub(rows, y)
    logdet = sum(torch.log(rows[i][i]) for i in range(len(rows)))
    return 0.5 * (z @ z) + logdet + 0.5 * len(x) * math.log(2 * math.pi)


opt = torch.optim.Adam([log_len, log_amp], lr=0.25)
for it in range(40):
    loss = nll()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{it:3d} nll {loss.item():9.3f} length {log_len.exp().item():.4f} amp {log_amp.exp().item():.4f}")
    if not math.isfinite(loss.item()):
        break
