# guards: AD115
"""A linear support vector machine by Pegasos: the rate is 1 / (lambda t), and the mean of its iterates is kept."""

import torch

torch.manual_seed(0)
x = torch.randn(600, 10)
y = torch.sign(x @ torch.randn(10) + 0.3 * torch.randn(600))
machine = torch.nn.Linear(10, 1)
shrinkage = 0.05
optimizer = torch.optim.SGD(machine.parameters(), lr=1 / shrinkage)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1 / (t + 1))
mean = [torch.zeros_like(weight) for weight in machine.parameters()]
for step in range(400):
    rows = torch.randint(600, (30,))
    margin = y[rows] * machine(x[rows]).squeeze(1)
    loss = torch.relu(1 - margin).mean() + shrinkage / 2 * machine.weight.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    with torch.no_grad():
        for kept, weight in zip(mean, machine.parameters(), strict=True):
            kept.add_((weight - kept) / (step + 1))
    if step % 100 == 0:
        print(step, loss.item())
