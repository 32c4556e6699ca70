"""The test set is scored after training, as the model was left: batch statistics, dropout and a graph."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
images = torch.randn(320, 1, 8, 8)
labels = (images[:, 0, :4].mean((1, 2)) > images[:, 0, 4:].mean((1, 2))).long()
train_set = TensorDataset(images[:256], labels[:256])
test_set = TensorDataset(images[256:], labels[256:])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(8 * 16, 2))

    def forward(self, x):
        return self.head(self.conv(x))


net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(3):
    for x, y in DataLoader(train_set, batch_size=32, shuffle=True):
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

hits = 0
for x, y in DataLoader(test_set, batch_size=32):
    hits += (net(x).argmax(1) == y).sum().item()  # expect: AD211
print(f"test accuracy {hits / len(test_set):.2f}")
