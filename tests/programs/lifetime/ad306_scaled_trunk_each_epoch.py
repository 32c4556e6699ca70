import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Course:
    def __init__(self, boost=1.5):
        torch.manual_seed(4)
        x = torch.randn(168, 12)
        self.rows = DataLoader(TensorDataset(x, x[:, :4].argmax(1)), batch_size=24, shuffle=True)
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.GELU())
        self.head = nn.Linear(32, 4)
        self.boost = boost
        self.rule = torch.optim.SGD([*self.trunk.parameters(), *self.head.parameters()], lr=0.02)

    def push(self):
        for weight in self.trunk.parameters():
            weight.register_post_accumulate_grad_hook(self.scaled)  # <- AD306

    def scaled(self, weight):
        weight.grad.mul_(self.boost)

    def epoch(self, number):
        if number:
            self.push()
        for x, kind in self.rows:
            self.rule.zero_grad()
            loss = nn.functional.cross_entropy(self.head(self.trunk(x)), kind)
            loss.backward()
            self.rule.step()
        print(number, loss.item())


if __name__ == "__main__":
    course = Course()
    for number in range(5):
        course.epoch(number)
