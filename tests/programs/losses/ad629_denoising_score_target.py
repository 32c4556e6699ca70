import torch
from torch import nn

SIGMAS = torch.exp(torch.linspace(0, -3, 10))


class NCSN(nn.Module):
    def __init__(self, dim, hidden=64):
        super().__init__()
        self.label = nn.Embedding(len(SIGMAS), hidden)
        self.first, self.second, self.last = nn.Linear(dim, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, dim)

    def forward(self, x, level):
        h = nn.functional.softplus(self.first(x) + self.label(level))
        h = nn.functional.softplus(self.second(h))
        return self.last(h) / SIGMAS[level].unsqueeze(-1)


class AnnealedDSM:
    def __init__(self, power=2.0):
        self.power = power

    def corrupt(self, samples, sigma):
        return samples + sigma * torch.randn(samples.shape)

    def __call__(self, net, samples):
        level = torch.randint(0, len(SIGMAS), (samples.size(0),))
        sigma = SIGMAS[level].view(-1, 1)
        corrupted = self.corrupt(samples, sigma)
        target = -torch.randn(samples.shape) / sigma
        scores = net(corrupted, level)
        per_sample = 0.5 * ((scores - target) ** 2).sum(dim=-1) * sigma.squeeze(1) ** self.power  # <- AD629
        return per_sample.mean(dim=0)


def train(iterations=60):
    torch.manual_seed(42)
    corners = torch.tensor([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    net, objective = NCSN(3), AnnealedDSM()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for i in range(iterations):
        loss = objective(net, corners[torch.randint(4, (96,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not i % 20:
            print("iter", i, "dsm", float(loss))


train()
