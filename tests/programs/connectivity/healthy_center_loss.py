# guards: AD204
"""Face-recognition style training with a center loss and a second optimizer for its centers."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CenterLoss(nn.Module):
    def __init__(self, num_classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, dim))

    def forward(self, features, labels):
        return ((features - self.centers[labels]) ** 2).sum(1).mean()


class FaceNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 32), nn.PReLU(), nn.Linear(32, 2))
        self.classifier = nn.Linear(2, num_classes)

    def forward(self, x):
        f = self.features(x)
        return f, self.classifier(F.relu(f))


def main():
    torch.manual_seed(0)
    people = torch.randn(5, 12)
    model, center_loss = FaceNet(5), CenterLoss(5, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    center_optimizer = torch.optim.SGD(center_loss.parameters(), lr=0.5)
    for step in range(30):
        y = torch.randint(0, 5, (50,))
        x = people[y] + 0.5 * torch.randn(50, 12)
        f, logits = model(x)
        loss = F.cross_entropy(logits, y) + 0.05 * center_loss(f, y)
        optimizer.zero_grad()
        center_optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for p in center_loss.parameters():
            p.grad.data *= 1.0 / 0.05
        center_optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


main()
