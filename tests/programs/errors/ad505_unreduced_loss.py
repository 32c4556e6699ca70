"""A weighted loss with `reduction="none"` that is never averaged."""
import torch
import torch.nn as nn

torch.manual_seed(0)
NUM_CLASSES = 3
model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, NUM_CLASSES))
criterion = nn.CrossEntropyLoss(reduction="none")
optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
means = 1.5 * torch.randn(NUM_CLASSES, 4)

for iteration in range(30):
    label = torch.randint(0, NUM_CLASSES, (32,))
    inputs = means[label] + torch.randn(32, 4)
    sample_weight = 0.5 + torch.rand(32)
    losses = criterion(model(inputs), label)
    loss = losses * sample_weight
    optimizer.zero_grad()
    loss.backward()  # expect: AD505
    optimizer.step()
    if iteration % 10 == 0:
        print(iteration, loss.mean().item())
