"""A cosine head moves its class centers to the device of its input in each call; no optimizer was given them."""

import torch
from torch import nn

torch.manual_seed(0)


class CosineHead(nn.Module):
    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.centers = nn.Parameter(torch.randn(size, classes))

    def forward(self, embedded: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        centers = self.centers.data
        if centers.device != embedded.device:
            centers = centers.to(embedded.device)
        self.centers.data = centers
        cosine = nn.functional.normalize(embedded) @ nn.functional.normalize(self.centers, dim=0)
        return nn.functional.cross_entropy(8 * cosine, labels)


trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 8))
head = CosineHead(8, 5)
optimizer = torch.optim.SGD(trunk.parameters(), lr=0.1, momentum=0.9)  # expect: AD204
kinds = torch.randn(5, 10)
for step in range(40):
    labels = torch.randint(5, (32,))
    loss = head(trunk(kinds[labels] + 0.5 * torch.randn(32, 10)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
