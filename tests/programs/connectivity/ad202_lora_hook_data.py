"""LoRA through forward hooks on a frozen model."""

import torch
from torch import nn


class LoRA(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.b.weight)
        base.register_forward_hook(self.hook)

    def hook(self, module, args, output):
        output.data += self.b(self.a(args[0]))  # expect: AD202
        return output


def attach(model):
    model.requires_grad_(False)
    return nn.ModuleDict({n.replace(".", "_"): LoRA(m) for n, m in model.named_modules() if isinstance(m, nn.Linear)})


torch.manual_seed(0)
base = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
adapters = attach(base)
head = nn.Linear(16, 2)
opt = torch.optim.Adam([*adapters.parameters(), *head.parameters()], lr=1e-2)
for step in range(8):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(head(base(x)), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
