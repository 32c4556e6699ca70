"""A calibration term compares with a moving average that drags every earlier graph along."""
import torch
import torch.nn.functional as F
from torch import nn


class Calibrated:
    def __init__(self, model, momentum=0.9, weight=0.1):
        self.model = model
        self.momentum = momentum
        self.weight = weight
        self.mean_rate = torch.tensor(0.5)

    def loss(self, x, y):
        logits = self.model(x).squeeze(1)
        rate = torch.sigmoid(logits).mean()
        self.mean_rate = self.momentum * self.mean_rate + (1 - self.momentum) * rate  # expect: AD303
        return F.binary_cross_entropy_with_logits(logits, y) + self.weight * (self.mean_rate - y.mean()) ** 2


def main():
    torch.manual_seed(0)
    objective = Calibrated(nn.Linear(6, 1))
    optimizer = torch.optim.SGD(objective.model.parameters(), lr=0.5)
    for step in range(30):
        x = torch.randn(80, 6)
        y = (x[:, 0] + 0.5 * x[:, 1] > 0.3).float()
        loss = objective.loss(x, y)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        if step % 10 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
