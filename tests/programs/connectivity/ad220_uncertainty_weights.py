"""Two tasks weighted by learned log-variances kept as plain tensors of the loss object, out of the optimizer (AD220)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTaskNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.depth = nn.Linear(32, 1)
        self.seg = nn.Linear(32, 3)

    def forward(self, x):
        z = self.trunk(x)
        return {"depth": self.depth(z).squeeze(-1), "seg": self.seg(z)}


class UncertaintyLoss:
    """Kendall & Gal (2018): exp(-s) * L + s for every task."""

    def __init__(self, n_tasks):
        self.log_vars = torch.zeros(n_tasks, requires_grad=True)  # expect: AD220

    def __call__(self, *losses):
        total = 0
        for s, l in zip(self.log_vars, losses):
            total = total + torch.exp(-s) * l + s
        return total


def fake_batch(n, w_depth, w_seg):
    x = torch.randn(n, 8)
    return x, x @ w_depth, (x @ w_seg).argmax(-1)


def main():
    torch.manual_seed(0)
    w_depth, w_seg = torch.randn(8), torch.randn(8, 3)
    net = MultiTaskNet()
    combine = UncertaintyLoss(2)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(30):
        x, d, s = fake_batch(64, w_depth, w_seg)
        out = net(x)
        loss = combine(F.mse_loss(out["depth"], d), F.cross_entropy(out["seg"], s))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 6 == 0:
            print("iter", step, "loss", f"{loss.item():.3f}")


main()
