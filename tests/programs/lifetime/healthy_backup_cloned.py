# guards: AD310
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
twin = nn.Sequential(model[0], nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD([*model.parameters(), *twin[2].parameters()], lr=0.05)
average = [weight.detach().clone() for weight in model.parameters()]

def give(values: list[torch.Tensor]) -> None:
    for value, weight in zip(values, model.parameters(), strict=True):
        weight.data.copy_(value)

for step in range(20):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x) + twin(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, weight in zip(average, model.parameters(), strict=True):
            mean.lerp_(weight, 0.1)
        if step % 5 == 4:
            backup = [weight.detach().clone() for weight in model.parameters()]
            give(average)
            model(torch.randn(32, 8)).mean().item()
            give(backup)
            for weight, other in zip(model.parameters(), twin.parameters(), strict=True):
                other.data.copy_(weight.data)
