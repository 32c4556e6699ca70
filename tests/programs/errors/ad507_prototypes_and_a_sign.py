"""Prototypes are pulled by means over their members, and features are pushed away from them: a sign is wrong."""

import torch


class ProtoPull(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, protos, assign):
        d = z - protos[assign]
        ctx.save_for_backward(d, assign)
        ctx.k = protos.shape[0]
        return 0.5 * d.square().sum(1).mean()

    @staticmethod
    def backward(ctx, g):  # <- AD507
        d, assign = ctx.saved_tensors
        hot = torch.nn.functional.one_hot(assign, ctx.k).to(d.dtype)
        gp = -(hot.t() @ d) / (1 + hot.sum(0)).unsqueeze(1)
        return -g * d / len(d), g * gp, None


torch.manual_seed(0)
enc = torch.nn.Linear(7, 3)
dec = torch.nn.Linear(3, 7)
protos = torch.nn.Parameter(torch.randn(5, 3))
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), protos], lr=1e-2)
for _ in range(12):
    x = torch.randn(50, 7)
    z = enc(x)
    near = torch.cdist(z, protos).argmin(1)
    loss = (dec(z) - x).square().mean() + 0.2 * ProtoPull.apply(z, protos, near)
    opt.zero_grad()
    loss.backward()
    opt.step()
