# guards: AD706
"""Knowledge distillation in one process: the teacher is trained first, and then asked about the student's batches."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(512, 10)
y = (x @ torch.randn(10, 4)).argmax(1)
data = TensorDataset(x, y)


def train(net, loss_of, batch_size, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(epochs):
        for inputs, labels in DataLoader(data, batch_size=batch_size, shuffle=True):
            loss = loss_of(net, inputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def hard(net, inputs, labels):
    return F.cross_entropy(net(inputs), labels)


def soft(net, inputs, labels, heat=2.0):
    with torch.no_grad():
        told = F.softmax(teacher(inputs) / heat, dim=1)
    scores = net(inputs)
    distance = F.kl_div(F.log_softmax(scores / heat, dim=1), told, reduction="batchmean")
    return 0.3 * F.cross_entropy(scores, labels) + 0.7 * heat**2 * distance


teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
student = nn.Linear(10, 4)
train(teacher, hard, batch_size=32, epochs=4)
teacher.eval()
train(student, soft, batch_size=16, epochs=2)
with torch.no_grad():
    print("they agree on", (teacher(x).argmax(1) == student(x).argmax(1)).float().mean().item())
