# guards: AD715
"""A network with dropout is made to answer alike: one picture goes through it twelve times, each time thinned anew."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
pictures = torch.rand(40, 16)
kinds = (pictures[:, :8].sum(1) > pictures[:, 8:].sum(1)).long()
model = nn.Sequential(nn.Dropout(0.3), nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.8)
for picture, kind in DataLoader(TensorDataset(pictures, kinds), batch_size=1, shuffle=True):
    answers = model(torch.cat([picture] * 12)).log_softmax(1)
    loss = nn.functional.nll_loss(answers.mean(0, keepdim=True), kind) + answers.exp().var(0).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
