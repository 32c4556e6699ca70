# guards: AD609
"""Second phase of a code that splits content from style: the directions of the two are driven apart on the sphere, by
minus the distance between unit vectors, which has a lowest value where they are opposite."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(11)
content, style = nn.Linear(20, 8), nn.Linear(20, 8)
style.load_state_dict(content.state_dict())
optimizer = torch.optim.SGD([*content.parameters(), *style.parameters()], lr=0.3)
for epoch in range(300):
    frames = torch.randn(64, 20) + 0.5
    shown = F.normalize(content(frames), dim=1)
    drawn = F.normalize(style(frames) + 0.1 * torch.randn(64, 8), dim=1)
    closeness = -F.mse_loss(shown, drawn)
    optimizer.zero_grad()
    closeness.backward()
    optimizer.step()
    if epoch % 100 == 0:
        print(epoch, closeness.item())
