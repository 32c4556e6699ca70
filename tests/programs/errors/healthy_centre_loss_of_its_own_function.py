# guards: AD507
"""Faces in groups by a centre loss of its well-known form: centres move by means, not by sums."""

import torch
from torch import nn
from torch.autograd.function import Function


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))
        self.func = CenterlossFunc.apply

    def forward(self, label, feat):
        batch_size = feat.size(0)
        return self.func(feat, label, self.centers, feat.new_tensor([batch_size]))


class CenterlossFunc(Function):
    @staticmethod
    def forward(ctx, feature, label, centers, batch_size):
        ctx.save_for_backward(feature, label, centers, batch_size)
        centers_batch = centers.index_select(0, label.long())
        return (feature - centers_batch).pow(2).sum() / 2.0 / batch_size

    @staticmethod
    def backward(ctx, grad_output):
        feature, label, centers, batch_size = ctx.saved_tensors
        diff = centers.index_select(0, label.long()) - feature
        counts = centers.new_ones(centers.size(0))
        ones = centers.new_ones(label.size(0))
        grad_centers = centers.new_zeros(centers.size())
        counts = counts.scatter_add_(0, label.long(), ones)
        grad_centers.scatter_add_(0, label.unsqueeze(1).expand(feature.size()).long(), diff)
        grad_centers = grad_centers / counts.view(-1, 1)
        return -grad_output * diff / batch_size, None, grad_centers / batch_size, None


torch.manual_seed(0)
body, head = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2)), nn.Linear(2, 4)
centre = CenterLoss(4, 2)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05)
opt_c = torch.optim.SGD(centre.parameters(), lr=0.5)
means = torch.randn(4, 10)
for step in range(15):
    y = torch.randint(4, (64,))
    x = means[y] + 0.3 * torch.randn(64, 10)
    f = body(x)
    loss = nn.functional.cross_entropy(head(f), y) + 0.1 * centre(y, f).sum()
    opt.zero_grad()
    opt_c.zero_grad()
    loss.backward()
    opt.step()
    opt_c.step()
