# guards: AD225
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def hessian_trace(model, criterion, inputs, targets, n_v=3):
    """as in PyHessian: Rademacher vectors, no third-party code"""
    params = [p for p in model.parameters() if p.requires_grad]
    grads = torch.autograd.grad(criterion(model(inputs), targets), params, create_graph=True)
    estimates = []
    for _ in range(n_v):
        v = [torch.randint_like(p, high=2) * 2 - 1 for p in params]
        Hv = torch.autograd.grad(grads, params, grad_outputs=v, retain_graph=True)
        estimates.append(sum((a * b).sum() for a, b in zip(Hv, v)).item())
    return float(np.mean(estimates))


def curvature_penalty(model, criterion, x, y, h=1.0):
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(criterion(model(x), y), x, create_graph=True)
    z = (g.sign() / g.sign().norm(dim=1, keepdim=True)).detach()
    (curved,) = torch.autograd.grad((g * z).sum(), x, create_graph=True)
    return h * curved.norm(dim=1).mean()


torch.manual_seed(7)
X = torch.randn(600, 10)
Y = (X[:, :3].abs().sum(1) > 2.3).long()
loader = DataLoader(TensorDataset(X, Y), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(4):
    for x, y in loader:
        loss = criterion(model(x), y) + curvature_penalty(model, criterion, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), "tr(H) =", hessian_trace(model, criterion, X[:100], Y[:100]))
