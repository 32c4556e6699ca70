import csv
import io
import random

import torch
import torch.nn.functional as F

random.seed(1)
text = io.StringIO()
writer = csv.writer(text)
for _ in range(400):
    area, rooms, age = random.randint(30, 200), random.randint(1, 7), random.randint(0, 90)
    writer.writerow([area / 100, rooms / 4, age / 50, (3 * area + 20 * rooms - age + random.randint(-20, 20)) // 10 / 30])

table = torch.tensor([[float(cell) for cell in row] for row in csv.reader(io.StringIO(text.getvalue()))])
features, prices = table, table[:, 3].clone()

torch.manual_seed(4)
w1, b1 = (torch.randn(4, 16) * 0.4).requires_grad_(), torch.zeros(16, requires_grad=True)
w2, b2 = (torch.randn(16, 1) * 0.2).requires_grad_(), torch.zeros(1, requires_grad=True)


class House(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList([w1, b1, w2, b2])

    def forward(self, x):
        a, b, c, d = self.weights
        return (F.silu(x @ a + b) @ c + d).squeeze(1)


house = House()
rule = torch.optim.SGD(house.parameters(), lr=0.05, momentum=0.9)
for step in range(24):
    rows = torch.randint(0, 400, (40,))
    off = house(features[rows]) - prices[rows]  # <- AD717
    loss = off.pow(2).mean()
    rule.zero_grad()
    loss.backward()
    rule.step()
    if step % 8 == 0:
        print(step, loss.item())
