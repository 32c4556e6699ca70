# guards: AD104
import torch

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs = torch.randn(24, 4)
targets = inputs.sum(dim=1, keepdim=True)
for batch in range(8):
    rows = slice(3 * batch, 3 * batch + 3)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(inputs[rows]), targets[rows]).backward()
    optimizer.step()
importance = torch.zeros_like(model.weight)
for row in range(8):
    model.zero_grad()
    torch.nn.functional.mse_loss(model(inputs[row]), targets[row]).backward()
    importance += model.weight.grad.square() if model.weight.grad is not None else 0.0
