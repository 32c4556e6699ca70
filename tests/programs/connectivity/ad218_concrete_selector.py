"""A concrete selector of features, whose gates are relaxed one-hot vectors."""
import torch
from torch.distributions import RelaxedOneHotCategorical
from torch.nn import Linear, Module, Parameter, ReLU, Sequential
from torch.nn.functional import mse_loss, softmax


class ConcreteSelector(Module):
    def __init__(self, n_features, k):
        super().__init__()
        self.logits = Parameter(0.01 * torch.randn(k, n_features))

    def forward(self, x, temperature):
        if self.training:
            gate = RelaxedOneHotCategorical(torch.tensor(temperature), logits=self.logits)
            m = gate.sample()  # expect: AD218
        else:
            m = torch.zeros_like(self.logits).scatter_(1, self.logits.argmax(1, keepdim=True), 1.0)
        return x @ m.T

    def overlap(self):
        p = softmax(self.logits, dim=1)
        return (p.sum(0) - 1).clamp(min=0).sum() + 0.1 * p.mul(p).sum()


def synth(n):
    x = torch.randn(n, 8)
    y = 1.0 + 0.5 * x[:, [1]] - 0.5 * x[:, [4]]
    return x, y


def main():
    torch.manual_seed(0)
    selector, head = ConcreteSelector(8, 3), Sequential(Linear(3, 16), ReLU(), Linear(16, 1))
    optimizer = torch.optim.Adam([
        {'params': selector.parameters(), 'lr': 5e-2},
        {'params': head.parameters(), 'lr': 5e-3},
    ])
    n_steps, t0, t1 = 40, 2.0, 0.3
    for step in range(n_steps):
        temperature = t0 * (t1 / t0) ** (step / n_steps)
        x, y = synth(128)
        loss = mse_loss(head(selector(x, temperature)), y) + 0.05 * selector.overlap()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(step + 1, loss.item())
    selector.eval()
    with torch.no_grad():
        x, y = synth(256)
        print('eval', mse_loss(head(selector(x, t1)), y).item())


main()
