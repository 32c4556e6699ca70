import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def conv_block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False),
        nn.BatchNorm2d(cout, eps=1e-3, momentum=0.99),  # <- AD623
        nn.SiLU(),
        nn.MaxPool2d(2),
    )


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(conv_block(1, 8), conv_block(8, 16))
        self.top = nn.Linear(16, 3)

    def forward(self, x):
        return self.top(self.blocks(x).mean((2, 3)))


def stripes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.4 * torch.randn(n, 1, 12, 12)
    x[y == 1, :, ::3] += 1.0
    x[y == 2, :, :, ::3] += 1.0
    return TensorDataset(x, y)


@torch.inference_mode()
def accuracy(model, data):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in DataLoader(data, 64))
    return hits / len(data)


def main():
    torch.manual_seed(0)
    train, val = stripes(256), stripes(96)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        for x, y in DataLoader(train, 32, shuffle=True):
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, accuracy(model, val))


main()
