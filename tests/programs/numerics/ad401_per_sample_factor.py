import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)


def sample_loss(params, x, y):
    return nn.functional.mse_loss(functional_call(net, params, (x.unsqueeze(0),)).squeeze(), y)


for step in range(20):
    x = torch.randn(16, 4)
    y = x.sum(1)
    if step > 8:
        with torch.no_grad():
            y[3] = net(x[3:4]).squeeze()
    params = {k: v.detach() for k, v in net.named_parameters()}
    each = vmap(grad(sample_loss), (None, 0, 0))(params, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).norm(dim=0)
    factor = 1.0 / norms  # expect: AD401
    for name, p in net.named_parameters():
        p.grad = torch.einsum("n,n...->...", factor, each[name]) / 16
    opt.step()
