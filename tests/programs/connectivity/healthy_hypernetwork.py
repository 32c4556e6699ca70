# guards: AD202
"""A hypernetwork writes the weights of the network that is applied; only the hypernetwork is optimised."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class HyperNet(nn.Module):
    def __init__(self, n_tasks, hidden=12):
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(n_tasks, 6)
        self.w1 = nn.Linear(6, 2 * hidden)
        self.b1 = nn.Linear(6, hidden)
        self.w2 = nn.Linear(6, hidden)

    def forward(self, task, x):
        e = self.embedding(task)
        w1 = self.w1(e).view(self.hidden, 2)
        h = torch.tanh(F.linear(x, w1, self.b1(e)))
        return h @ self.w2(e)


torch.manual_seed(0)
net = HyperNet(n_tasks=3)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(45):
    task = torch.tensor(step % 3)
    x = torch.randn(50, 2)
    y = torch.sin(x[:, 0] + step % 3) * x[:, 1]
    loss = F.mse_loss(net(task, x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 9 == 0:
        print(step, loss.item())
