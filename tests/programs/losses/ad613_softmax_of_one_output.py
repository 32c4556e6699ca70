"""Heart disease, with a softmax at the end of one output and a squared error."""

import torch
from torch import nn, optim

torch.manual_seed(0)


class Heart(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(13, 20), nn.Linear(20, 1)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = self.dropout(torch.relu(self.fc1(x)))
        return nn.functional.softmax(self.fc2(x), dim=-1)  # expect: AD613


X = torch.randn(200, 13)
y = (X[:, :3].sum(1) > 0).float().unsqueeze(1)
model = Heart()
optimizer = optim.SGD(model.parameters(), lr=0.1)
for epoch in range(20):
    optimizer.zero_grad()
    loss = ((model(X) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
