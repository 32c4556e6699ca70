# guards: AD211 AD209
"""Self-training with noise: in each round, unlabelled rows get labels under dropout, and are trained towards."""
import torch
from torch import nn

torch.manual_seed(2)
centres = torch.tensor([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]])
truth = torch.randint(3, (300,))
points = centres[truth] + torch.randn(300, 2)
model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
labelled, unlabelled = points[:30], points[30:]
targets = nn.functional.one_hot(truth[:30], 3).float()
pseudo = None
for round_ in range(6):
    for _ in range(8):
        loss = nn.functional.cross_entropy(model(labelled), targets)
        if pseudo is not None:
            rows = torch.randint(len(unlabelled), (64,))
            loss = loss + 0.3 * nn.functional.cross_entropy(model(unlabelled[rows]), pseudo[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pseudo = model(unlabelled).softmax(1).detach()
