# guards: AD626
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Sampler


class Events(Dataset):
    def __init__(self, n=3000):
        g = torch.Generator().manual_seed(4)
        self.y = torch.multinomial(torch.tensor([0.86, 0.1, 0.04]), n, replacement=True, generator=g)
        self.x = torch.randn(3, 7, generator=g)[self.y] + torch.randn(n, 7, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class EqualShares(Sampler):
    """Each batch has as many of each class, so that gradients of rare ones are not too noisy."""

    def __init__(self, y, per_class, batches):
        self.rows = [torch.nonzero(y == k).flatten() for k in range(3)]
        self.per_class, self.batches = per_class, batches

    def __iter__(self):
        for _ in range(self.batches):
            yield torch.cat([rows[torch.randint(len(rows), (self.per_class,))] for rows in self.rows]).tolist()

    def __len__(self):
        return self.batches


def main():
    torch.manual_seed(0)
    events = Events()
    prior = torch.bincount(events.y, minlength=3) / len(events)
    loader = DataLoader(events, batch_sampler=EqualShares(events.y, 20, 20))
    model = nn.Sequential(nn.Linear(7, 24), nn.SiLU(), nn.Linear(24, 3))
    calibrated = nn.CrossEntropyLoss(weight=3 * prior)  # the loss of the real distribution, in expectation
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        for x, y in loader:
            loss = calibrated(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
