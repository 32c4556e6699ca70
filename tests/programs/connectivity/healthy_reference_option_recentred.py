# guards: AD206
"""Choice model: utilities relative to a reference, stored centred for reporting."""
import torch
from torch import nn


class CentredSGD(torch.optim.SGD):
    """Utilities are only defined up to a constant per attribute; stores the sum-to-zero version."""

    @torch.no_grad()
    def step(self, closure=None):
        out = super().step(closure)
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.mean(dim=0, keepdim=True))
        return out


class Choice(nn.Module):
    def __init__(self, options, attributes):
        super().__init__()
        self.util = nn.Parameter(torch.zeros(options, attributes))

    def forward(self, x):
        return x @ self.util.T


torch.manual_seed(5)
OPT, ATT = 5, 7
truth = torch.randn(OPT, ATT)
x = torch.randn(4000, ATT)
y = torch.distributions.Categorical(logits=x @ truth.T).sample()
model = Choice(OPT, ATT)
optim = CentredSGD(model.parameters(), lr=0.3)
for epoch in range(6):
    for idx in torch.randperm(len(y)).split(200):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optim.zero_grad()
        loss.backward()
        model.util.grad[0] = 0  # option 0 is the reference
        optim.step()
    err = (model.util.detach() - (truth - truth.mean(0))).abs().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} error {err:.3f}")
