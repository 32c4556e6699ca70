# guards: AD102 AD221
"""A learned stencil for the heat equation. What is known of it stays as it is: gradients are put to 0 there by an index,
and of the diffusivity, which is known as a whole in this experiment, everywhere."""

import torch

torch.manual_seed(0)
stencil = torch.tensor([0.2, 0.1, 0.2], requires_grad=True)
diffusivity = torch.tensor([1.0, 1.0], requires_grad=True)
known = {"stencil": torch.tensor([True, False, True]), "diffusivity": torch.tensor([True, True])}
of_stencil, of_material = torch.optim.SGD([stencil], lr=0.05), torch.optim.SGD([diffusivity], lr=0.01)

for _ in range(60):
    u = torch.rand(16, 34)
    true = 0.2 * u[:, :-2] + 0.6 * u[:, 1:-1] + 0.2 * u[:, 2:]
    left, middle, right = stencil
    moved = left * u[:, :-2] + middle * u[:, 1:-1] + right * u[:, 2:]
    loss = ((moved * diffusivity.mean() - true) ** 2).mean()
    of_stencil.zero_grad()
    of_material.zero_grad()
    loss.backward()
    stencil.grad[known["stencil"]] = 0.0
    diffusivity.grad = torch.where(known["diffusivity"], 0.0, diffusivity.grad)
    of_stencil.step()
    of_material.step()
