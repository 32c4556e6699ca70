# guards: AD310
"""A moving average of a graph network reads the weights through one `state_dict`, which always shows the present ones."""

import torch
import torch.nn.functional as F
from torch import nn


class Messages(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.others = nn.Linear(5, 16), nn.Linear(5, 16, bias=False)
        self.out = nn.Linear(16, 3)

    def forward(self, nodes, links):
        return self.out(torch.relu(self.own(nodes) + links @ self.others(nodes)))


torch.manual_seed(0)
links = torch.rand(60, 60).lt(0.1).float()
nodes = torch.randn(60, 5)
kind = (nodes + links @ nodes)[:, :3].argmax(1)
model = Messages()
weights = model.state_dict()
averaged = Messages()
mean = {name: value.clone() for name, value in weights.items()}
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(30):
    loss = F.cross_entropy(model(nodes, links), kind)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for name in mean:
        mean[name] = 0.9 * mean[name] + 0.1 * weights[name]
    if step % 10 == 9:
        averaged.load_state_dict(mean)
        with torch.no_grad():
            print(step, loss.item(), F.cross_entropy(averaged(nodes, links), kind).item())
