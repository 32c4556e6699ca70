"""Lasso-style regression whose L1 penalty is computed every step and never added to the loss (AD219)."""
import torch
import torch.nn as nn

torch.manual_seed(0)
n, d = 200, 30
X = torch.randn(n, d)
true_w = torch.zeros(d)
true_w[:4] = torch.tensor([1.5, -2.0, 0.7, 1.0])
y = X @ true_w + 0.1 * torch.randn(n)

model = nn.Linear(d, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
lambda1 = 0.01

for epoch in range(40):
    y_hat = model(X).squeeze(1)
    mse = nn.functional.mse_loss(y_hat, y)
    l1_penalty = lambda1 * model.weight.abs().sum()  # expect: AD219
    loss = mse
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f'Epoch {epoch}: loss = {loss.item():.4f}')
print('nonzero weights:', int((model.weight.abs() > 0.05).sum()))
