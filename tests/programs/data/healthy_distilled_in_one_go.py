# guards: AD706
"""A large network is trained first, and teaches a small one on some of its images and on new ones afterwards."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def distillation_loss(teacher, inputs, logits, labels, t=4.0, alpha=0.7):
    with torch.no_grad():
        soft = teacher(inputs)
    distance = F.kl_div(F.log_softmax(logits / t, 1), F.log_softmax(soft / t, 1), reduction="batchmean", log_target=True)
    return alpha * distance * t * t + (1 - alpha) * F.cross_entropy(logits, labels)


def mlp(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 5))


torch.manual_seed(3)
centres = torch.randn(5, 16)
labels = torch.randint(0, 5, (520,))
images = centres[labels] + 0.8 * torch.randn(520, 16)
data = TensorDataset(images, labels)
train = DataLoader(Subset(data, range(320)), batch_size=40, shuffle=True)
transfer = DataLoader(Subset(data, range(200, 440)), batch_size=40, shuffle=True)
test_x, test_y = images[440:], labels[440:]

teacher = mlp(64)
optimizer = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for epoch in range(3):
    for x, y in train:
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()

teacher.eval()
student = mlp(12)
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(3):
    student.train()
    for x, y in transfer:
        loss = distillation_loss(teacher, x, student(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    student.eval()
    with torch.no_grad():
        print(epoch, (student(test_x).argmax(1) == test_y).float().mean().item())
