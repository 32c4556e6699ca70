"""Two heads on one encoder, each with an optimizer that also holds the encoder: both step it in every iteration."""

import torch
import torch.nn as nn

torch.manual_seed(9)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.cls_head = nn.Linear(32, 3)
        self.reg_head = nn.Linear(32, 1)

    def forward(self, x):
        h = self.encoder(x)
        return self.cls_head(h), self.reg_head(h).squeeze(1)


model = MultiTask()
opt_cls = torch.optim.Adam([*model.encoder.parameters(), *model.cls_head.parameters()], lr=2e-3)
opt_reg = torch.optim.Adam([*model.encoder.parameters(), *model.reg_head.parameters()], lr=2e-3)  # expect: AD112

W = torch.randn(12, 3)
for it in range(40):
    x = torch.randn(50, 12)
    y_cls, y_reg = (x @ W).argmax(1), torch.tanh(x[:, 0] + x[:, 1])
    logits, value = model(x)
    loss = nn.functional.cross_entropy(logits, y_cls) + nn.functional.mse_loss(value, y_reg)
    opt_cls.zero_grad()
    opt_reg.zero_grad()
    loss.backward()
    opt_cls.step()
    opt_reg.step()
    if it % 10 == 0:
        print(f"{it}: {loss.item():.3f}")
