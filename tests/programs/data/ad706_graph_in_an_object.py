"""A graph and its masks in one object; evaluation keeps its graph, and training takes every node that is not for tests."""

from types import SimpleNamespace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.RandomState(4)
torch.manual_seed(4)
count = 150
labels = rng.randint(0, 3, count)
features = rng.randn(count, 9).astype("float32")
features[np.arange(count), labels] += 2
idx = np.arange(count)
data = SimpleNamespace(x=torch.from_numpy(features), y=torch.from_numpy(labels).long())
pairs = rng.randint(0, count, (2, 600))
pairs = pairs[:, (labels[pairs[0]] == labels[pairs[1]]) | (rng.rand(600) < 0.2)]
data.adj = torch.sparse_coo_tensor(torch.from_numpy(pairs), torch.ones(pairs.shape[1]) / 4, (count, count)).coalesce()
data.train_mask = torch.tensor(idx < 100)
data.val_mask = torch.tensor((idx >= 60) & (idx < 120))  # expect: AD706
data.test_mask = torch.tensor(idx >= 120)


class GraphConvolution(nn.Module):
    def __init__(self, given, returned):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(given, returned) / given**0.5)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, x @ self.weight) + x @ self.weight


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = GraphConvolution(9, 16), GraphConvolution(16, 3)

    def forward(self, data):
        return F.log_softmax(self.two(F.relu(self.one(data.x, data.adj)), data.adj), dim=1)


def accuracy(output, labels):
    preds = output.max(1)[1].type_as(labels)
    return preds.eq(labels).double().sum() / len(labels)


gcn = GCN()
opt = torch.optim.Adam(gcn.parameters(), lr=0.02)
for epoch in range(25):
    gcn.train()
    opt.zero_grad()
    output = gcn(data)
    loss_train = F.nll_loss(output[data.train_mask], data.y[data.train_mask])
    acc_train = accuracy(output[data.train_mask], data.y[data.train_mask])
    loss_train.backward()
    opt.step()
    loss_val = F.nll_loss(output[data.val_mask], data.y[data.val_mask])
    acc_val = accuracy(output[data.val_mask], data.y[data.val_mask])
    print(f"{epoch:04d} {loss_train:.4f} {acc_train:.4f} {loss_val:.4f} {acc_val:.4f}")
gcn.eval()
with torch.no_grad():
    print("test", accuracy(gcn(data)[data.test_mask], data.y[data.test_mask]).item())
