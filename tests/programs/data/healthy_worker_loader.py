# guards: AD705
"""DataLoader workers that return a class of the script, collated by hand."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Sample:
    image: torch.Tensor
    label: int


class Shapes(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        label = int(torch.randint(0, 2, (), generator=g))
        image = 0.4 * torch.randn(1, 8, 8, generator=g)
        if label:
            image[0].fill_diagonal_(1.5)
        return Sample(image, label)


def collate(samples):
    return torch.stack([s.image for s in samples]), torch.tensor([s.label for s in samples])


def main():
    torch.manual_seed(0)
    loader = DataLoader(Shapes(240), batch_size=24, shuffle=True, num_workers=1, collate_fn=collate)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
