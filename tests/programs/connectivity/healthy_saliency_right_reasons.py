# guards: AD220
"""Classifier trained normally, with a saliency map per epoch from the .grad of the inputs."""
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 12)
y = (x[:, 3] - x[:, 7] > 0).long()
net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
ce = nn.CrossEntropyLoss()


def saliency(model, batch):
    inp = batch.clone().requires_grad_()
    model(inp).max(1).values.sum().backward()
    return inp.grad.abs().mean(0)


for epoch in range(5):
    for xb, yb in zip(x.split(32), y.split(32)):
        opt.zero_grad()
        loss = ce(net(xb), yb)
        loss.backward()
        opt.step()
    top = saliency(net, x).topk(2).indices.tolist()
    print("epoch", epoch, "loss", round(loss.item(), 4), "most salient", top)
