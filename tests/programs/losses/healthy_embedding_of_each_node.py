# guards: AD608
import torch
from torch import nn

class Roads(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = nn.Embedding(20, 8)
        self.past, self.next = nn.Linear(12, 8), nn.Linear(8, 3)

    def forward(self, flow):
        return self.next(torch.relu(self.past(flow) + self.own.weight))

torch.manual_seed(0)
model = Roads()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    flow = torch.rand(20, 12)
    loss = nn.functional.mse_loss(model(flow), flow[:, -3:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
