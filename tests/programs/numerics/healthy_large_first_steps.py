# guards: AD412
import torch

torch.manual_seed(72)
X = torch.randn(400, 10)
truth = 6 * torch.randn(10, 3)
Y = X @ truth + 0.1 * torch.randn(400, 3)
W = torch.nn.Parameter(torch.randn(10, 3) * 0.3)
opt = torch.optim.Adam([W], lr=0.6)
for epoch in range(4):
    for rows in torch.randperm(400).split(40):
        opt.zero_grad()
        (X[rows] @ W - Y[rows]).square().mean().backward()
        opt.step()
