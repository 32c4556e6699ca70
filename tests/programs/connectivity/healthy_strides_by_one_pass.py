# guards: AD209
"""A detector that learns its stride by one pass of its layers over zeros as it is built, as YOLO does."""

import torch
from torch import nn

torch.manual_seed(0)


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Sequential(nn.Conv2d(1, 16, 3, 2, padding=1), nn.SiLU()),
                nn.Sequential(nn.Conv2d(16, 16, 3, 2, padding=1), nn.SiLU()),
                nn.Conv2d(16, 3, 1),
            ]
        )
        self.eval()
        self.stride = 512 // self._through(torch.zeros(1, 1, 512, 512)).shape[-1]
        self.train()

    def _through(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._through(x)


model = Detector()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for _ in range(40):
    images = 0.1 * torch.randn(8, 1, 32, 32)
    rows, columns = torch.randint(0, 8, (2, 8))
    for i, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        images[i, 0, row * model.stride : (row + 1) * model.stride, column * model.stride :][:, : model.stride] += 1
    out = model(images)
    there = torch.zeros(8, 8, 8)
    there[torch.arange(8), rows, columns] = 1
    loss = nn.functional.binary_cross_entropy_with_logits(out[:, 0], there) + out[:, 1:].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f} stride {model.stride}")
