"""A small convolutional classifier built as one nn.Sequential."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)

model = nn.Sequential(
    nn.Conv2d(1, 6, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(6 * 5 * 5, 10),
    nn.Softmax(dim=1),
)
loss_fn = nn.CrossEntropyLoss()
opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

images = torch.randn(256, 1, 12, 12)
labels = images.flatten(1)[:, :10].argmax(1)

for epoch in range(3):
    for i in range(0, 256, 32):
        opt.zero_grad()
        logits = model(images[i : i + 32])  # expect: AD601
        loss = loss_fn(logits, labels[i : i + 32])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
