# guards: AD706
"""Self-training: 60 labelled points, a pool without labels, three pseudo-label rounds."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def spirals(n, seed, noise=0.09):
    g = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % 3
    r = torch.rand(n, generator=g) * 0.85 + 0.15
    angle = 2.2 * r + y * 2 * torch.pi / 3
    x = torch.stack([r * angle.cos(), r * angle.sin()], 1)
    return x + noise * torch.randn(n, 2, generator=g), y


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(64, 3))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def predict(model, x):
    model.eval()
    return model(x).softmax(dim=1)


def accuracy(model, x, y):
    return (predict(model, x).argmax(1) == y).float().mean().item()


@torch.no_grad()
def select_confident(model, pool, threshold):
    """Confident pool points, with as many for each class."""
    confidence, label = predict(model, pool).max(dim=1)
    keep = []
    sure = [((label == c) & (confidence > threshold)).nonzero().squeeze(1) for c in range(3)]
    quota = min(len(s) for s in sure)
    for s in sure:
        keep.append(s[confidence[s].argsort(descending=True)[:quota]])
    keep = torch.cat(keep)
    return keep, label[keep]


def train(model, opt, dataset, epochs, tag, gen):
    loader = DataLoader(dataset, batch_size=16, shuffle=True, generator=gen)
    for epoch in range(epochs):
        model.train()
        total = weight_sum = 0.0
        for x, y, w in loader:
            opt.zero_grad()
            loss = (w * F.cross_entropy(model(x), y, reduction="none")).sum() / w.sum()
            loss.backward()
            opt.step()
            total += loss.item() * w.sum().item()
            weight_sum += w.sum().item()
    print(f"{tag}: {len(dataset)} points, last epoch's loss {total / weight_sum:.3f}")


def main():
    torch.manual_seed(4)
    gen = torch.Generator().manual_seed(5)
    x_lab, y_lab = spirals(60, seed=1)
    pool, _ = spirals(120, seed=2)          # its labels are not used
    x_val, y_val = spirals(150, seed=3)
    x_test, y_test = spirals(300, seed=6)

    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    labelled = TensorDataset(x_lab, y_lab, torch.ones(len(x_lab)))
    train(model, opt, labelled, epochs=12, tag="supervised", gen=gen)
    print(f"  validation {accuracy(model, x_val, y_val):.3f}")

    for rnd, threshold in enumerate([0.95, 0.9, 0.85], start=1):
        keep, guess = select_confident(model, pool, threshold)
        x = torch.cat([x_lab, pool[keep]])
        y = torch.cat([y_lab, guess])
        w = torch.cat([torch.full((len(x_lab),), 3.0), torch.ones(len(keep))])
        opt = torch.optim.Adam(model.parameters(), lr=1e-2 / rnd)
        train(model, opt, TensorDataset(x, y, w), epochs=2, tag=f"round {rnd}", gen=gen)
        print(f"  validation {accuracy(model, x_val, y_val):.3f}")

    print(f"test {accuracy(model, x_test, y_test):.3f}")


if __name__ == "__main__":
    main()
