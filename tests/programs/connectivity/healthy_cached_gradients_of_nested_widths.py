# guards: AD208 AD101
"""Contrastive learning with a cache of gradients, for prefixes of the embedding: representations without a graph, leaves
that live for one step, and a hook on the loss that goes through the model in small batches."""

import torch
import torch.nn.functional as F
from torch import nn


def contrast(a, b, labels):
    return F.cross_entropy(F.normalize(a, dim=1) @ F.normalize(b, dim=1).T * 10, labels)


class Cached(nn.Module):
    def __init__(self, model, widths, rows):
        super().__init__()
        self.model, self.widths, self.rows = model, widths, rows

    def nested(self, leaves):
        total = 0.0
        for width in self.widths:
            cut = [[leaf[:, :width] for leaf in column] for column in leaves]
            inner = [[part.detach().requires_grad_() for part in column] for column in cut]
            first, second = map(torch.cat, inner)
            for start in range(0, len(first), self.rows):
                labels = torch.arange(start, start + self.rows)
                part = contrast(first[start : start + self.rows], second, labels) / len(self.widths)
                part.backward(retain_graph=start + self.rows < len(first))
                total = total + part.detach()
            for parts, made in zip(cut, inner, strict=True):
                for part, leaf in zip(parts, made, strict=True):
                    part.backward(leaf.grad)
        return total

    def forward(self, *views):
        with torch.no_grad():
            kept = [[self.model(part) for part in view.split(self.rows)] for view in views]
        leaves = [[each.requires_grad_() for each in column] for column in kept]
        loss = self.nested(leaves).detach().requires_grad_()
        gradients = [[leaf.grad for leaf in column] for column in leaves]

        def through_the_model(scale):
            with torch.enable_grad():
                for view, gradient in zip(views, gradients, strict=True):
                    for part, wanted in zip(view.split(self.rows), gradient, strict=True):
                        (torch.dot(self.model(part).flatten(), wanted.flatten()) * scale).backward()

        loss.register_hook(through_the_model)
        return loss


torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 8))
criterion = Cached(encoder, widths=(8, 4, 2), rows=4)
optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
for step in range(40):
    x = torch.randn(16, 16)
    loss = criterion(x, x + 0.3 * torch.randn(16, 16))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
