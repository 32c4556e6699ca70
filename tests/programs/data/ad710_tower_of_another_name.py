"""Molecules: a tower that has learned to fill masked atoms in is to predict solubility, from thirty labels."""
from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn


class Tower(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(9, width), nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, atoms):
        return self.second(self.norm(F.gelu(self.first(atoms))))


def assemble(**parts):
    return nn.Sequential(OrderedDict(parts))


def molecules(count):
    shared = torch.randn(count, 3)
    return torch.cat([shared, shared.roll(1, 1), shared.tanh()], 1) + 0.1 * torch.randn(count, 9)


def train(net, inputs, wanted, steps, loss_of):
    optimizer = torch.optim.AdamW(net.parameters(), lr=4e-3)
    for at in torch.randint(0, len(inputs), (steps, 24)):
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(inputs[at]), wanted[at]).backward()
        optimizer.step()


def adopt(net, checkpoint):
    mine = net.state_dict()
    net.load_state_dict({key: checkpoint["weights"].get(key, value) for key, value in mine.items()})  # <- AD710


torch.manual_seed(2)
atoms = molecules(700)
holes = (torch.rand_like(atoms) < 0.3).float()
filler = assemble(gnn=Tower(), fill=nn.Linear(20, 9))
train(filler, atoms * (1 - holes), atoms, 12, F.l1_loss)
checkpoint = {"round": 12, "weights": filler.state_dict()}

few = molecules(30)
soluble = few[:, :3].sum(1, keepdim=True).gt(0).float()
net = assemble(tower=Tower(), answer=nn.Linear(20, 1))
adopt(net, checkpoint)
train(net, few, soluble, 40, F.binary_cross_entropy_with_logits)
