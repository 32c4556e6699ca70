import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(71)
faces = torch.rand(256, 1, 8, 8)
labels = (faces[:, 0, :4].mean((1, 2)) > faces[:, 0, 4:].mean((1, 2))).long()
loader = DataLoader(TensorDataset(faces, labels), batch_size=32, shuffle=True)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 3), nn.Tanh(), nn.AvgPool2d(2))
        self.classifier = nn.Sequential(nn.Linear(54, 24), nn.Tanh(), nn.Linear(24, 2), nn.Tanh())

    def forward(self, x):
        return 5 * self.classifier(self.features(x).flatten(1))


net = LeNet()
trainer = torch.optim.RMSprop(net.parameters(), lr=1.0, alpha=0.9)  # expect: AD412
for epoch in range(3):
    for image, label in loader:
        trainer.zero_grad()
        nn.functional.cross_entropy(net(image), label).backward()
        trainer.step()
