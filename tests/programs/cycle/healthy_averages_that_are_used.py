# guards: AD116 AD227
import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
target, shown = copy.deepcopy(model), copy.deepcopy(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(8):
    inputs = torch.randn(16, 4)
    with torch.no_grad():
        wanted = inputs.sum(dim=1, keepdim=True) + 0.5 * target(inputs)
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), wanted).backward()
    optimizer.step()
    with torch.no_grad():
        names = dict(model.named_parameters())
        for slow, fast in zip(target.parameters(), model.parameters(), strict=True):
            slow.data = 0.9 * slow + 0.1 * fast
        for name, slow in list(shown.named_parameters()):
            layer, leaf = name.split(".")
            setattr(shown[int(layer)], leaf, nn.Parameter(torch.lerp(slow, names[name], 0.1)))
        drift = [
            (slow - fast).norm().item() for slow, fast in zip(target.parameters(), model.parameters(), strict=True)
        ]
print(max(drift))
