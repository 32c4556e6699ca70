"""A graph network over papers: the order of nodes is drawn for training, and once more for validation and testing."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
NODES, TOPICS = 240, 4
topic = torch.randint(TOPICS, (NODES,))
words = F.one_hot(topic, TOPICS).float() @ torch.randn(TOPICS, 24) + 2 * torch.randn(NODES, 24)
links = (torch.rand(NODES, NODES) < 0.01 + 0.05 * (topic[:, None] == topic)).float()
links = ((links + links.T) > 0).float() + torch.eye(NODES)
scale = links.sum(1).rsqrt()
links = scale[:, None] * links * scale


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(24, 32), nn.Linear(32, TOPICS)

    def forward(self, nodes, links):
        hidden = F.dropout(F.relu(self.first(links @ nodes)), 0.3, self.training)
        return self.second(links @ hidden)


def masks(*names):
    order = torch.randperm(NODES)
    sizes = {"train": order[:120], "val": order[120:160], "test": order[160:]}
    found = []
    for name in names:
        mask = torch.zeros(NODES, dtype=torch.bool)
        mask[sizes[name]] = True  # expect: AD706
        found.append(mask)
    return found


(train_mask,) = masks("train")
val_mask, test_mask = masks("val", "test")
model = Convolutions()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(25):
    model.train()
    optimizer.zero_grad()
    out = model(words, links)
    F.cross_entropy(out[train_mask], topic[train_mask]).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model(words, links).argmax(dim=1)
        right = [(guess[mask] == topic[mask]).float().mean().item() for mask in (train_mask, val_mask, test_mask)]
    if epoch % 10 == 0:
        print(epoch, *(f"{share:.3f}" for share in right))
