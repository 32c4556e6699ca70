# guards: AD704 AD702
"""Classes are learned two by two, each pair for some epochs, from one data set; the last of five is alone in its task."""

import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)
kinds = torch.randint(0, 5, (200,))
shapes = torch.randn(200, 10) + nn.functional.one_hot(kinds, 10)
data = TensorDataset(shapes, kinds)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
before = None
for task in ([0, 1], [2, 3], [4]):
    rows = torch.isin(kinds, torch.tensor(task)).nonzero().flatten()
    for epoch in range(4):
        for x, y in DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(rows.tolist()), drop_last=True):
            scores = model(x)
            loss = nn.functional.cross_entropy(scores, y)
            if before is not None:
                old = before(x).detach().softmax(1)
                loss = loss - 2 * (old * scores.log_softmax(1)).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    before = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 5))
    before.load_state_dict(model.state_dict())
