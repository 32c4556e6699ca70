import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
images, digits = torch.rand(300, 1, 8, 8), torch.randint(0, 10, (300,))
classes = 10

net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, classes))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for iteration in range(25):
    batch = torch.randint(low=0, high=classes, size=(24,))  # expect: AD711
    optimizer.zero_grad()
    F.cross_entropy(net(images[batch]), digits[batch]).backward()
    optimizer.step()
