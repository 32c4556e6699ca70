# guards: AD507
"""A network is laid out so that it is well connected: the second eigenvalue of its Laplacian, with its own gradient."""

import torch


class Connectivity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, laplacian):
        values, vectors = torch.linalg.eigh(laplacian)
        ctx.save_for_backward(vectors[:, 1])
        return values[1]

    @staticmethod
    def backward(ctx, gradient):
        (fiedler,) = ctx.saved_tensors
        return gradient * fiedler[:, None] * fiedler[None, :]


torch.manual_seed(1)
places = torch.randn(7, 2, requires_grad=True)
search = torch.optim.Adam([places], lr=0.02)
for _ in range(25):
    apart = (places[:, None] - places[None]).square().sum(-1)
    links = torch.exp(-apart) * (1 - torch.eye(7))
    laplacian = torch.diag(links.sum(1)) - links
    crowd = (1 / (0.1 + apart)).triu(1).mean()
    loss = crowd - Connectivity.apply(laplacian)
    search.zero_grad()
    loss.backward()
    search.step()
