# guards: AD507
"""Finite elements on an elastic bed: the stiffness is assembled from the moduli beforehand, the bed in the solve."""

import torch
from torch import nn


class Mesh:
    def __init__(self, elements):
        self.elements = elements
        self.stiffness = None

    def assemble(self, moduli):
        stiffness = torch.zeros(self.elements + 1, self.elements + 1)
        for left, modulus in enumerate(moduli.tolist()):
            stiffness[left : left + 2, left : left + 2] += modulus * torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
        self.stiffness = stiffness[1:, 1:]


class Displacement(torch.autograd.Function):
    @staticmethod
    def forward(ctx, moduli, load, mesh):
        matrix = mesh.stiffness.to(load.dtype) + 0.5 * torch.diag(moduli)
        moved = torch.linalg.solve(matrix, load)
        ctx.save_for_backward(matrix, moved)
        return moved

    @staticmethod
    def backward(ctx, grad):
        matrix, moved = ctx.saved_tensors
        multiplier = torch.linalg.solve(matrix.T, grad)
        stretch = torch.diff(moved, prepend=moved.new_zeros(1))
        slopes = torch.diff(multiplier, prepend=multiplier.new_zeros(1))
        return -stretch * slopes - 0.5 * moved * multiplier, multiplier, None


torch.manual_seed(0)
mesh = Mesh(8)
material = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1), nn.Softplus())
optimizer = torch.optim.Adam(material.parameters(), lr=5e-3)
places = torch.linspace(0, 1, 8).unsqueeze(1)
for _ in range(40):
    load = 0.1 * torch.rand(8)
    moduli = material(places).squeeze(1) + 0.5
    mesh.assemble(moduli.detach())
    moved = Displacement.apply(moduli, load, mesh)
    strain = torch.diff(moved, prepend=moved.new_zeros(1))
    loss = (strain - load.flip(0).cumsum(0).flip(0) / (1 + places.squeeze(1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
