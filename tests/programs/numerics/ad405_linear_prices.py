import torch

torch.manual_seed(36)

# closed-form check is at the end; here plain gradient descent
n, d = 400, 8
x = torch.randn(n, d) * torch.tensor([1.0, 2.0, 3.0, 1.0, 0.5, 2.0, 1.0, 4.0])
w_true = torch.randn(d)
y = x @ w_true + 0.1 * torch.randn(n)

w = torch.zeros(d, requires_grad=True)
b = torch.zeros((), requires_grad=True)
optimizer = torch.optim.SGD([w, b], lr=0.075)  # expect: AD405
trace = []


def closure_loss(xb, yb):
    pred = xb @ w + b
    return ((pred - yb) ** 2).mean()


for epoch in range(6):
    perm = torch.randperm(n)
    for i in range(0, n, 40):
        rows = perm[i : i + 40]
        loss = closure_loss(x[rows], y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trace.append(loss.item())
    print(f"epoch {epoch:2d} loss {trace[-1]:.4g} |w| {w.norm().item():.4g}")

xb = torch.cat([x, torch.ones(n, 1)], 1)
sol = torch.linalg.lstsq(xb, y[:, None]).solution[:, 0]
print("least squares residual", ((xb @ sol - y) ** 2).mean().item())
