import torch
from torch import nn

class Shifted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.ones(6), requires_grad=False)
        self.body = nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        moved: torch.Tensor = self.body(x - self.shift)
        return moved

torch.manual_seed(0)
model = Shifted()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)  # expect: AD206
x = torch.randn(32, 6)
for _ in range(8):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
