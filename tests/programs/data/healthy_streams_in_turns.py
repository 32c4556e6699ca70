# guards: AD714
"""Two tasks share a trunk; their loaders are made anew in each epoch and drawn from in turns until both are empty."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
heads = {"price": nn.Linear(16, 1), "demand": nn.Linear(16, 1)}
tasks = {}
for count, name in ((16, "price"), (80, "demand")):
    x = torch.randn(count, 6)
    tasks[name] = TensorDataset(x, x[:, :2].sum(dim=1, keepdim=True) if name == "price" else x.prod(dim=1, keepdim=True))
parameters = [*trunk.parameters(), *(weight for head in heads.values() for weight in head.parameters())]
optimizer = torch.optim.SGD(parameters, lr=0.05)
for epoch in range(3):
    streams = {name: iter(DataLoader(task, batch_size=8, shuffle=True)) for name, task in tasks.items()}
    while streams:
        for name, stream in list(streams.items()):
            batch = next(stream, None)
            if batch is None:
                del streams[name]
                continue
            inputs, wanted = batch
            loss = nn.functional.mse_loss(heads[name](trunk(inputs)), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
