# guards: AD624
"""A cosine classifier whose weights are columns, and attention between channels, which sums over the places."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy, normalize, softmax


class BetweenChannels(nn.Module):
    """Cross-covariance attention: queries and keys are normalised over the places, which their product sums up."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.qkv, self.warmth = nn.Linear(channels, 3 * channels), nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.transpose(1, 2) for part in self.qkv(x).chunk(3, dim=2))
        scores = normalize(q, dim=2) @ normalize(k, dim=2).transpose(1, 2) * self.warmth
        return x + (softmax(scores, dim=2) @ v).transpose(1, 2)


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix, self.weight = BetweenChannels(8), nn.Parameter(torch.randn(8, 6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = normalize(self.mix(x).mean(1), dim=1)
        return 16 * seen @ normalize(self.weight, dim=0)


torch.manual_seed(0)
model = Classifier()
kinds = torch.randn(6, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(20):
    names = torch.randint(6, (32,))
    loss = cross_entropy(model(kinds[names][:, None] + 0.3 * torch.randn(32, 10, 8)), names)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
