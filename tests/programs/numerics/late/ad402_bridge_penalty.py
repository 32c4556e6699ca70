import torch
import torch.nn as nn

torch.manual_seed(30)

# 40 genes, six of them matter
n, d = 500, 40
X = torch.randn(n, d)
beta = torch.zeros(d)
beta[[2, 7, 11, 19, 28, 33]] = torch.tensor([1.5, -2.0, 1.0, 0.8, -1.2, 2.2])
y = X @ beta + 0.3 * torch.randn(n)


class SparseLinear(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d) * 0.1)
        self.b = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x @ self.w + self.b

    def penalty(self, q=0.5):
        return (self.w.abs() ** q).sum()  # expect: AD402

    @torch.no_grad()
    def prune(self, tol):
        small = self.w.abs() < tol
        self.w[small] = 0.0
        return int(small.sum())


model = SparseLinear(d)
opt = torch.optim.SGD(model.parameters(), lr=0.02)
for epoch in range(22):
    perm = torch.randperm(n)
    for i in range(0, n, 100):
        idx = perm[i : i + 100]
        loss = nn.functional.mse_loss(model(X[idx]), y[idx]) + 0.02 * model.penalty()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch == 15:
        print("pruned", model.prune(0.05))
    if epoch % 5 == 0:
        print(epoch, f"{loss.item():.4f}", "nonzero", int((model.w.abs() > 0.05).sum()))
