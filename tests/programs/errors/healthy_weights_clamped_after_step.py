# guards: AD503 AD215
"""A monotone network clamps its weights through `.data` after the step."""
import torch
from torch import nn


class Monotone(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(1, 16)
        self.l2 = nn.Linear(16, 16)
        self.l3 = nn.Linear(16, 1)

    def forward(self, x):
        return self.l3(torch.tanh(self.l2(torch.tanh(self.l1(x)))))

    def constrain(self):
        for layer in (self.l1, self.l2, self.l3):
            layer.weight.data.clamp_(min=0.0)


torch.manual_seed(0)
model = Monotone()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    x = 4 * torch.rand(64, 1) - 2
    loss = nn.functional.mse_loss(model(x), x.tanh() + 0.2 * x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.constrain()
    if step % 10 == 0:
        print(step, loss.item())
