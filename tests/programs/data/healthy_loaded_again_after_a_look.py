# guards: AD710
import torch
from torch import nn

torch.manual_seed(0)
saved = {f"net.{key}": value for key, value in nn.Linear(8, 1).state_dict().items()}
model = nn.Linear(8, 1)
if model.load_state_dict(saved, strict=False).missing_keys:
    model.load_state_dict({key.removeprefix("net."): value for key, value in saved.items()})
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    x = torch.randn(16, 8)
    loss = nn.functional.mse_loss(model(x), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
