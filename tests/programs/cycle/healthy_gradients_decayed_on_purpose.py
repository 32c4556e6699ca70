# guards: AD101
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(12):
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.mul_(0.9)
    inputs = torch.randn(16, 4)
    torch.nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)).backward()
    optimizer.step()
