# guards: AD216
"""Fine-tuning with a frozen pretrained part: one summand depends on frozen parameters alone and is a constant on purpose."""
import torch
import torch.nn.functional as F
from torch import nn


def pretrain(backbone, x, steps=10):
    head = nn.Linear(24, 10)
    opt = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=5e-3)
    for _ in range(steps):
        opt.zero_grad()
        F.mse_loss(head(backbone(x)), x).backward()
        opt.step()


class Finetune(nn.Module):
    def __init__(self, backbone, n_out=3):
        super().__init__()
        self.backbone = backbone.requires_grad_(False).eval()
        self.adapter = nn.Linear(24, 24)
        self.head = nn.Linear(24, n_out)
        nn.init.zeros_(self.adapter.weight)
        nn.init.zeros_(self.adapter.bias)

    def forward(self, x):
        h = self.backbone(x)
        return self.head(torch.relu(h + self.adapter(h)))

    def weight_norm(self):
        return sum(m.weight.norm() for m in self.modules() if isinstance(m, nn.Linear))


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 10)
    y = (x @ torch.randn(10, 3)).argmax(1)
    backbone = nn.Sequential(nn.Linear(10, 24), nn.ReLU())
    pretrain(backbone, x)
    model = Finetune(backbone)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    for step in range(25):
        frozen_norm = sum(p.norm() for p in model.backbone.parameters())
        loss = F.cross_entropy(model(x), y) + 1e-3 * model.weight_norm() + 1e-4 * frozen_norm
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 8 == 0:
            print(step, loss.item())


main()
