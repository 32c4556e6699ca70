# guards: AD606 AD608
"""Images are tensors of a class of their own, which compute as any others do."""

import torch
from torch import nn

torch.manual_seed(0)


class Image(torch.Tensor):
    """A tensor that says what it is, and remembers nothing."""


model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(40):
    labels = torch.randint(3, (16,))
    images = torch.randn(16, 1, 12, 12)
    images[torch.arange(16), 0, 4 * labels] += 3
    scores = model(images.as_subclass(Image)).as_subclass(torch.Tensor)
    loss = nn.functional.cross_entropy(scores, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
