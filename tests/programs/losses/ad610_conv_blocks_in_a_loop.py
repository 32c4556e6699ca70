"""Image classifier with its blocks in a ModuleList; an activation is only applied at the end of the stack."""

import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.blocks = nn.ModuleList(
            [nn.Conv2d(a, b, kernel_size=3, padding=1) for a, b in zip(widths[:-1], widths[1:], strict=True)]
        )
        self.act = nn.GELU()

    def forward(self, images):
        features = images
        for block in self.blocks:
            features = block(features)  # expect: AD610
        return self.act(features).mean(dim=(2, 3))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone([3, 8, 16, 16])
        self.head = nn.Linear(16, 4)

    def forward(self, images):
        return self.head(self.backbone(images))


def main():
    torch.manual_seed(11)
    model = Classifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    centres = torch.randn(4, 3, 1, 1)
    for step in range(25):
        labels = torch.randint(0, 4, (24,))
        images = centres[labels] + 0.5 * torch.randn(24, 3, 10, 10)
        loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(step, float(loss.detach()))


if __name__ == "__main__":
    main()
