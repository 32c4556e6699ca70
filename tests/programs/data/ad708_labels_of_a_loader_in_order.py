"""The loader of the pictures shuffles, that of their labels does not."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Conv2d(1, 6, 3), nn.Linear(6 * 16, 2)

    def forward(self, pictures):
        return self.head(self.features(pictures).relu().flatten(1))


torch.manual_seed(0)
pictures = torch.randn(64, 1, 6, 6)
labels = (pictures.mean((1, 2, 3)) > 0).int()[:, None]
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
shown, named = TensorDataset(pictures), TensorDataset(labels)
for epoch in range(3):
    answers = iter(DataLoader(named, batch_size=16))  # expect: AD708
    for (batch,) in DataLoader(shown, batch_size=16, shuffle=True):
        (answer,) = next(answers)
        loss = nn.functional.cross_entropy(model(batch), answer.squeeze(1).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
