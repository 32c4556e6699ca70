# guards: AD610
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.embed, self.head = nn.Linear(8, 32), nn.Linear(32, 16), nn.Linear(16, 4)

    def forward(self, x):
        code = self.embed(torch.relu(self.trunk(x)))
        return self.head(code), nn.functional.normalize(code, dim=1)

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    x = torch.randn(32, 8)
    scores, near = model(x)
    loss = nn.functional.cross_entropy(scores, x[:, :4].argmax(1)) + (near[1:] * near[:-1]).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
