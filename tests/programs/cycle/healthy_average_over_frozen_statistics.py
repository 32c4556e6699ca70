# guards: AD120
"""Transfer of a lesion classifier from one dermatoscope to another, with stochastic weight averaging.

Batch norms are frozen during fine-tuning, as detectors do it: there are few images of the new device, and the
statistics of the old one are kept as fixed scales, in the model and in the average alike.
"""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel

torch.manual_seed(31)


def lesions(n: int, tint: torch.Tensor, contrast: float):
    label = torch.randint(0, 2, (n,))
    y, x = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
    angle, radius = torch.atan2(y, x), (x**2 + y**2).sqrt()
    wave = (0.08 + 0.13 * label)[:, None, None] * torch.sin(3 * angle + 6.28 * torch.rand(n, 1, 1))
    inside = torch.sigmoid(12 * (0.55 + wave - radius))
    skin = torch.tensor([0.8, 0.6, 0.5])[:, None, None]
    image = skin - contrast * inside[:, None] * torch.tensor([0.4, 0.45, 0.4])[:, None, None] + tint[:, None, None]
    return (image + 0.15 * torch.randn(n, 3, 16, 16) - 0.6) / 0.25, label


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(block(3, 16), block(16, 32))
        self.head = nn.Linear(32 * 16, 2)
        self.frozen = False

    def freeze_norms(self):
        self.frozen = True
        for module in self.trunk.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.requires_grad_(False)
        return self.train()

    def train(self, mode=True):
        super().train(mode)
        if self.frozen:
            for module in self.trunk.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.eval()
        return self

    def forward(self, x):
        return self.head(self.trunk(x).flatten(1))


def train(model, optimizer, images, labels, batch):
    model.train()
    for rows in torch.randperm(len(images)).split(batch):
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model, images, labels):
    model.eval()
    return (model(images).argmax(1) == labels).float().mean().item()


def main():
    old = lesions(1024, torch.zeros(3), 1.0)
    new = lesions(192, torch.tensor([0.15, -0.08, 0.1]), 0.6)
    new_test = lesions(600, torch.tensor([0.15, -0.08, 0.1]), 0.6)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    for _ in range(5):
        train(model, optimizer, *old, batch=64)
    print(f"old device's model on the new device: {accuracy(model, *new_test):.3f}")

    model.freeze_norms()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005, momentum=0.9)
    average, swa_rate = AveragedModel(model), SWALR(optimizer, swa_lr=0.01, anneal_epochs=3)
    for epoch in range(20):
        train(model, optimizer, *new, batch=16)
        if epoch >= 8:
            average.update_parameters(model)
            swa_rate.step()
    print(f"fine-tuned {accuracy(model, *new_test):.3f}, averaged {accuracy(average, *new_test):.3f}")


main()
