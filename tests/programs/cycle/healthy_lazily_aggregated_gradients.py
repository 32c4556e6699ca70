# guards: AD103
# Lazily aggregated gradients (Chen, Giannakis, Sun, Yin; NeurIPS 2018).
# A worker uploads only if its gradient has changed enough since its last upload; the server keeps the sum of the latest
# uploads and descends along it in every iteration.
import torch
import torch.nn.functional as F
from collections import deque
from dataclasses import dataclass


@dataclass
class Worker:
    x: torch.Tensor
    y: torch.Tensor
    last: torch.Tensor | None = None
    uploads: int = 0

    def gradient(self, theta, ridge):
        w = theta.detach().requires_grad_()
        loss = F.binary_cross_entropy_with_logits(self.x @ w, self.y) + 0.5 * ridge * w.square().sum()
        return torch.autograd.grad(loss, w)[0]

    def delta(self, theta, ridge, threshold):
        new = self.gradient(theta, ridge)
        if self.last is not None and (new - self.last).square().sum() <= threshold:
            return None
        change = new if self.last is None else new - self.last
        self.last, self.uploads = new, self.uploads + 1
        return change


def make_workers(n, dim, g):
    truth = torch.randn(dim, generator=g)
    for i in range(n):
        x = torch.randn(120, dim, generator=g) * (0.4 + 0.15 * i)
        y = torch.bernoulli((x @ truth).sigmoid(), generator=g)
        yield Worker(x, y)


def main(workers=9, dim=12, iterations=150, ridge=0.02, lr=0.7, memory=10, xi=0.08):
    g = torch.Generator().manual_seed(6)
    staff = list(make_workers(workers, dim, g))
    theta = torch.nn.Parameter(torch.zeros(dim))
    theta.grad = torch.zeros(dim)
    server = torch.optim.SGD([theta], lr=lr)
    moves: deque = deque(maxlen=memory)

    def objective():
        with torch.no_grad():
            losses = [F.binary_cross_entropy_with_logits(w.x @ theta, w.y) for w in staff]
            return (torch.stack(losses).mean() + 0.5 * ridge * theta.square().sum()).item()

    for k in range(iterations):
        threshold = xi * sum(moves) / lr**2 if moves else 0.0
        for w in staff:
            change = w.delta(theta, ridge, threshold)
            if change is not None:
                theta.grad.add_(change, alpha=1 / workers)
        before = theta.detach().clone()
        server.step()
        moves.append((theta.detach() - before).square().sum().item())
        if k % 30 == 0 or k == iterations - 1:
            print(
                f"iter {k:3d}  objective {objective():.6f}  uploads {sum(w.uploads for w in staff)} of {(k + 1) * workers}"
            )


if __name__ == "__main__":
    main()
