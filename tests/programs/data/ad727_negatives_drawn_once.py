"""A recommender whose negatives are to be drawn anew in each epoch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

USERS, ITEMS = 20, 40


class Interactions(Dataset):
    def __init__(self, positives):
        self.positives = positives
        self.pairs = []

    def sample_negatives(self, rng):
        self.pairs = [(u, i, 1.0) for u, i in self.positives]
        self.pairs += [(u, int(rng.integers(ITEMS)), 0.0) for u, _ in self.positives]

    def __len__(self):
        return 2 * len(self.positives)

    def __getitem__(self, index):
        return self.pairs[index]


class Factors(torch.nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.users, self.items = torch.nn.Embedding(USERS, dim), torch.nn.Embedding(ITEMS, dim)

    def forward(self, users, items):
        return (self.users(users) * self.items(items)).sum(1)


def fit(data, epochs, rng):
    data.sample_negatives(rng)
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    model = Factors()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        if epoch:
            data.sample_negatives(rng)  # expect: AD727
        for users, items, liked in loader:
            loss = F.binary_cross_entropy_with_logits(model(users, items), liked.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    fit(Interactions([(u, (3 * u + k) % ITEMS) for u in range(USERS) for k in range(2)]), 3, rng)
