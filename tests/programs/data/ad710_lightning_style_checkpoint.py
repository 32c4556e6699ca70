import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


class Task(nn.Module):
    """What the checkpoint was written from."""

    def __init__(self):
        super().__init__()
        self.net = Net()


def restore(net, checkpoint):
    result = net.load_state_dict(checkpoint["state_dict"], strict=False)  # expect: AD710
    return net, len(result.missing_keys)


def main():
    torch.manual_seed(0)
    checkpoint = {"epoch": 11, "global_step": 400, "state_dict": Task().state_dict()}
    net, _ = restore(Net(), checkpoint)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(12):
        images = torch.randn(8, 1, 8, 8)
        loss = nn.CrossEntropyLoss()(net(images), (images.mean((1, 2, 3)) > 0).long())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


main()
