import torch
from torch import nn

torch.manual_seed(2)
images = torch.rand(200, 1, 6, 6)
grades = images.mean((1, 2, 3)) * 1.9


class Grader(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).flatten(1))


def batches(size):
    order = torch.randperm(len(images))
    for start in range(0, len(images), size):
        rows = order[start : start + size]
        yield images[rows], (grades[rows] / 2).long()


model = Grader()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in batches(20):
    loss = nn.functional.cross_entropy(model(x), y)  # expect: AD704
    opt.zero_grad()
    loss.backward()
    opt.step()
