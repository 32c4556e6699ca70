import torch
import torch.nn as nn

torch.manual_seed(0)
NUM_CLASSES, PER_CLASS, DIM = 10, 30, 12


class Gallery:
    def __init__(self):
        centers = 2 * torch.randn(NUM_CLASSES, DIM)
        self.items = centers.repeat_interleave(PER_CLASS, 0) + torch.randn(NUM_CLASSES * PER_CLASS, DIM)
        self.labels = torch.arange(NUM_CLASSES).repeat_interleave(PER_CLASS)

    def triplets(self, size):
        anchor = torch.randint(0, len(self.items), (size,))
        positive = (self.labels[anchor] * PER_CLASS) + anchor % PER_CLASS
        negative = (anchor + torch.randint(PER_CLASS, len(self.items) - PER_CLASS, (size,))) % len(self.items)
        return self.items[anchor], self.items[positive], self.items[negative]


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(DIM, 48), nn.PReLU(), nn.Linear(48, 16))

    def forward(self, x):
        return nn.functional.normalize(self.mlp(x))


def run(steps=60):
    gallery, model = Gallery(), Embedder()
    criterion = nn.TripletMarginLoss(margin=1.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        a, p, n = gallery.triplets(32)
        ea = model(a)
        ep = model(p)  # <- AD716
        en = model(n)
        loss = criterion(ea, ep, en)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(loss.item())


run()
