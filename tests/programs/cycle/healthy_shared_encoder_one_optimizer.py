# guards: AD112
"""Two heads on one encoder under one optimizer with groups."""

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
optimizer = torch.optim.Adam(
    [
        {"params": model.encoder.parameters(), "lr": 1e-3},
        {"params": [*model.cls_head.parameters(), *model.reg_head.parameters()]},
    ],
    lr=2e-3,
)

W = torch.randn(12, 3)
for it in range(40):
    x = torch.randn(50, 12)
    y_cls, y_reg = (x @ W).argmax(1), torch.tanh(x[:, 0] + x[:, 1])
    logits, value = model(x)
    loss = nn.functional.cross_entropy(logits, y_cls) + nn.functional.mse_loss(value, y_reg)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"{it}: {loss.item():.3f}")
