"""A model rewritten by fx: its forward is generated and belongs to no module; the test leaves it in eval mode."""
import torch
import torch.nn.functional as F
from torch import fx, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.drop, self.head = nn.Linear(8, 16), nn.Dropout(0.3), nn.Linear(16, 1)

    def forward(self, x):
        return self.head(self.drop(F.relu(self.body(x))))


torch.manual_seed(0)
model = fx.symbolic_trace(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(32, 8)
y = x.sum(1, keepdim=True)
for epoch in range(3):
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    model.eval()  # expect: AD210
    with torch.no_grad():
        print(epoch, F.mse_loss(model(x), y).item())
