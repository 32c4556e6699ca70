"""Sparse coding of small patches, with a shrinking gradient step of the program's own that forgets to write."""
import torch

torch.manual_seed(8)
PATCH, ATOMS = 9, 14


class Shrinking(torch.optim.Optimizer):
    def __init__(self, params, rate, threshold):
        super().__init__(params, {"lr": rate, "threshold": threshold})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for values in group["params"]:
                values = values - group["lr"] * values.grad
                values = values.sign() * (values.abs() - group["lr"] * group["threshold"]).clamp(min=0)


dictionary = torch.nn.Linear(ATOMS, PATCH, bias=False)
codes = torch.nn.Parameter(0.1 * torch.randn(60, ATOMS))
patches = torch.randn(60, 3) @ torch.randn(3, PATCH)
optimizer = Shrinking([dictionary.weight, codes], rate=0.05, threshold=0.01)
for _ in range(30):
    rows = torch.randperm(60)[:30]
    optimizer.zero_grad()
    rest = patches[rows] - dictionary(codes[rows])
    loss = rest.square().sum(1).mean()
    loss.backward()
    optimizer.step()  # expect: AD111
