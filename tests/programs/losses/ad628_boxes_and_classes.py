from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Config:
    classes: int = 5
    width: int = 48
    batch: int = 32
    steps: int = 40


class Detector(nn.Module):
    def __init__(self, cfg: Config) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 36, cfg.width), nn.ReLU()
        )
        self.cls_head = nn.Linear(cfg.width, cfg.classes)
        self.box_head = nn.Linear(cfg.width, 4)

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        h = self.trunk(image)
        return {"logits": self.cls_head(h), "boxes": self.box_head(h)}


class Criterion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ce = nn.CrossEntropyLoss()
        self.l1 = nn.SmoothL1Loss(reduction="sum", beta=0.1)

    def forward(self, out: dict[str, Tensor], target: dict[str, Tensor]) -> dict[str, Tensor]:
        cls = self.ce(out["logits"], target["labels"])
        box = self.l1(out["boxes"], target["boxes"])
        return {"loss": cls + box, "cls": cls.detach(), "box": box.detach()}  # <- AD628


def scene(cfg: Config) -> tuple[Tensor, dict[str, Tensor]]:
    images = 0.1 * torch.rand(cfg.batch, 1, 12, 12)
    labels = torch.randint(0, cfg.classes, (cfg.batch,))
    corner = torch.randint(0, 8, (cfg.batch, 2))
    for image, label, (i, j) in zip(images, labels.tolist(), corner.tolist()):
        image[0, i : i + 4, j : j + 4] += 0.2 * (label + 1)
    boxes = torch.cat([corner, corner + 4], dim=1) / 12
    return images, {"labels": labels, "boxes": boxes}


def main(cfg: Config) -> None:
    torch.manual_seed(0)
    model, criterion = Detector(cfg), Criterion()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(cfg.steps):
        images, target = scene(cfg)
        losses = criterion(model(images), target)
        optimizer.zero_grad(set_to_none=True)
        losses["loss"].backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, {k: round(v.item(), 3) for k, v in losses.items()})


main(Config())
