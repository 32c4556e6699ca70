"""A layer that normalises its weight in place in every forward, so that half of each update is thrown away."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CosineClassifier(nn.Module):
    def __init__(self, dim, classes, scale=8.0):
        super().__init__()
        self.proto = nn.Linear(dim, classes, bias=False)
        self.scale = scale

    def forward(self, h):
        self.proto.weight.data = F.normalize(self.proto.weight.data, dim=1)  # expect: AD215
        return self.scale * self.proto(F.normalize(h, dim=1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 16))
        self.classifier = CosineClassifier(16, 3)

    def forward(self, x):
        return self.classifier(self.body(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    W = torch.randn(9, 3)
    for i in range(40):
        x = torch.randn(64, 9)
        loss = F.cross_entropy(net(x), (x @ W).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 10 == 0:
            print(i, loss.item())
