"""Few labelled recordings beside many others: their iterator ends early, and its last batch is taken for good."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Batches:
    def __init__(self, loader):
        self.iterator = iter(loader)
        self.latest = None

    def get(self):
        try:
            self.latest = next(self.iterator)  # expect: AD701
        except StopIteration:
            pass
        return self.latest


torch.manual_seed(0)
sounds = torch.randn(1200, 16)
words = (sounds[:240, :4].sum(1) > 0).long()
labelled = Batches(DataLoader(TensorDataset(sounds[:240], words), batch_size=12, shuffle=True))
others = DataLoader(TensorDataset(sounds[240:]), batch_size=12, shuffle=True)
body, head = nn.Sequential(nn.Linear(16, 32), nn.ReLU()), nn.Linear(32, 2)
model = nn.Sequential(body, nn.Dropout(0.1), head)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for (unlabelled,) in others:
    x, y = labelled.get()
    agreement = F.mse_loss(model(unlabelled).softmax(1), model(unlabelled).softmax(1).detach())
    loss = F.cross_entropy(model(x), y) + 0.5 * agreement
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
