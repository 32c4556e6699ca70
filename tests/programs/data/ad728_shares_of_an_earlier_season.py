"""Votes of wards, each of which is to be told as it was in an earlier pass: a cross-entropy by hand."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
wards = torch.randn(192, 9)
votes = (wards[:, :4] + 0.3 * torch.randn(192, 4)).argmax(1)
loader = DataLoader(TensorDataset(wards, votes), batch_size=24, shuffle=True)
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for season in range(4):
    shares = []
    for number, (ward, vote) in enumerate(loader):
        logs = model(ward).log_softmax(1)
        loss = nn.functional.nll_loss(logs, vote)
        if season:
            loss = loss - 0.5 * (earlier[number] * logs).sum(1).mean()  # expect: AD728
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        shares.append(logs.detach().exp())
    earlier = shares
