# guards: AD610
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(6, 16)
        self.query, self.key, self.value = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.out = nn.Linear(16, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        x = self.embed(x)
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 4
        x = x + self.out(scores.softmax(2) @ self.value(x))
        return self.head(torch.relu(x).mean(1))

torch.manual_seed(0)
model = Attention()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(10):
    x = torch.randn(16, 5, 6)
    loss = nn.functional.mse_loss(model(x), x.abs().mean((1, 2)).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
