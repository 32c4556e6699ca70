import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
average = [weight.detach().clone() for weight in model.parameters()]
for step in range(20):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for mean, weight in zip(average, model.parameters(), strict=True):
            mean.lerp_(weight, 0.1)
        if step % 5 == 4:
            backup = [weight.data for weight in model.parameters()]  # expect: AD310
            for mean, weight in zip(average, model.parameters(), strict=True):
                weight.copy_(mean)
            model(torch.randn(32, 8)).mean().item()
            for kept, weight in zip(backup, model.parameters(), strict=True):
                weight.copy_(kept)
