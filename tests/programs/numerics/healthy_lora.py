# guards: AD410 AD203
"""LoRA: frozen weights, trained low-rank adapters whose B starts at zero."""

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scaling * (x @ self.lora_A.T @ self.lora_B.T)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 3)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


def add_lora(model):
    for name in ("fc1", "fc2", "fc3"):
        setattr(model, name, LoRALinear(getattr(model, name)))
    return [p for p in model.parameters() if p.requires_grad]


def main():
    torch.manual_seed(0)
    model = MLP()
    optimizer = torch.optim.AdamW(add_lora(model), lr=1e-2)
    W = torch.randn(8, 3)
    for step in range(40):
        x = torch.randn(64, 8)
        loss = nn.functional.cross_entropy(model(x), (x @ W).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


main()
