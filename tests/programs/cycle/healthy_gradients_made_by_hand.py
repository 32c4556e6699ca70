# guards: AD103
import torch

torch.manual_seed(0)
weights = torch.nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([weights], lr=0.05)
for _ in range(8):
    inputs = torch.randn(16, 4)
    loss = (inputs @ weights - inputs.sum(dim=1)).square().mean()
    (weights.grad,) = torch.autograd.grad(loss, [weights])
    optimizer.step()
