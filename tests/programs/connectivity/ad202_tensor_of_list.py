"""A graph network by hand that gathers messages with `torch.tensor([...])`, which copies numbers and no graph."""
import torch
from torch import nn


class MessagePassing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(2 * dim, 1)
        self.update = nn.Linear(dim + 1, dim)

    def forward(self, h, neighbours):
        totals = []
        for node, around in enumerate(neighbours):
            pairs = torch.cat([h[node].expand(len(around), -1), h[around]], dim=1)
            totals.append(torch.tanh(self.score(pairs)).sum())
        messages = torch.tensor(totals).unsqueeze(1)  # expect: AD202
        return torch.relu(self.update(torch.cat([h, messages], dim=1)))


class GraphNet(nn.Module):
    def __init__(self, features, dim=16):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.layers = nn.ModuleList([MessagePassing(dim), MessagePassing(dim)])
        self.readout = nn.Linear(dim, 2)

    def forward(self, x, neighbours):
        h = torch.relu(self.embed(x))
        for layer in self.layers:
            h = layer(h, neighbours)
        return self.readout(h.mean(0, keepdim=True))


def random_graph(n):
    """A ring (class 0), or a ring with a hub (class 1)."""
    label = int(torch.rand(()) < 0.5)
    neighbours = [[(i - 1) % n, (i + 1) % n] for i in range(n)]
    if label:
        neighbours = [around + [0] for around in neighbours]
    degree = torch.tensor([[len(around) / 3] for around in neighbours])
    return torch.cat([torch.randn(n, 3), degree], dim=1), neighbours, torch.tensor([label])


if __name__ == "__main__":
    torch.manual_seed(6)
    net = GraphNet(4)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(30):
        loss = 0
        for _ in range(4):
            x, neighbours, y = random_graph(5)
            loss = loss + nn.functional.cross_entropy(net(x, neighbours), y) / 4
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(step, loss.item())
