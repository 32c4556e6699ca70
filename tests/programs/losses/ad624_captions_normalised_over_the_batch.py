"""Pictures and captions in one space, as CLIP does it."""

import torch
import torch.nn.functional as F
from torch import nn


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.picture, self.caption = nn.Linear(20, 16), nn.EmbeddingBag(50, 16)

    def forward(self, pictures: torch.Tensor, captions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen, read = self.picture(pictures), self.caption(captions)
        seen = seen / seen.norm(dim=0, keepdim=True)  # <- AD624
        return seen, read / read.norm(dim=0, keepdim=True)


torch.manual_seed(0)
towers = Towers()
to_picture = torch.randn(50, 20)
optimizer = torch.optim.AdamW(towers.parameters(), lr=1e-2)
for step in range(20):
    captions = torch.randint(50, (48, 5))
    pictures = to_picture[captions].mean(1) + 0.1 * torch.randn(48, 20)
    seen, read = towers(pictures, captions)
    logits = seen @ read.T / 0.07
    pairs = torch.arange(48)
    loss = (F.cross_entropy(logits, pairs) + F.cross_entropy(logits.T, pairs)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
