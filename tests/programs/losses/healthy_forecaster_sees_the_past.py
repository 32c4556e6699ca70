# guards: AD621
"""A forecaster of a noisy wave that attends to what came before."""
import torch
from torch import nn

torch.manual_seed(0)
series = torch.sin(torch.linspace(0, 300, 6000)) + 0.1 * torch.randn(6000)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.place = nn.Linear(1, 16), nn.Embedding(24, 16)
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        length = x.shape[1]
        h = self.read(x[..., None]) + self.place(torch.arange(length))
        scores = self.query(h) @ self.key(h).transpose(1, 2) / 4
        past = torch.ones(length, length).tril().bool()
        scores = scores.masked_fill(~past, float("-inf"))
        h = h + self.out(scores.softmax(-1) @ self.value(h))
        return self.head(h).squeeze(-1)


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    starts = torch.randint(0, 5900, (16,)).tolist()
    rows = torch.stack([series[s : s + 25] for s in starts])
    loss = nn.functional.mse_loss(model(rows[:, :-1]), rows[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
