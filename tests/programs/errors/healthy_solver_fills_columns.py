# guards: AD503
import torch
from torch import nn


class Unchecked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scratch, value, index):
        ctx.index = index
        scratch.data[index] = value
        return scratch

    @staticmethod
    def backward(ctx, grad):
        return grad, grad[ctx.index], None


TABLEAU = [[1 / 2], [0.0, 3 / 4], [2 / 9, 1 / 3, 4 / 9]]


def bogacki_shampine(field, y, dt):
    k = torch.empty(*y.shape, 4)
    k = Unchecked.apply(k, field(y), (..., 0))
    for stage, row in enumerate(TABLEAU):
        weights = torch.tensor(row) * dt
        y_next = y + (k[..., : stage + 1] * weights).sum(-1)
        k = Unchecked.apply(k, field(y_next), (..., stage + 1))
    return y_next


def rollout(field, y, steps, dt):
    path = [y]
    for _ in range(steps):
        path.append(bogacki_shampine(field, path[-1], dt))
    return torch.stack(path)


torch.manual_seed(3)
spiral = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
true = rollout(lambda y: y**3 @ spiral, torch.tensor([[2.0, 0.0]]).repeat(8, 1) + 0.1 * torch.randn(8, 2), 3, 0.05)
field = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))
log_dt = nn.Parameter(torch.tensor(0.04).log())
optimizer = torch.optim.RMSprop([*field.parameters(), log_dt], lr=2e-3)
for iteration in range(20):
    optimizer.zero_grad()
    loss = (rollout(lambda y: field(y**3), true[0], 3, log_dt.exp()) - true).abs().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
