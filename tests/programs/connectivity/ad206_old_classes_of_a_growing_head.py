"""A head learns two new classes after four old ones. The rows of the old ones get no gradient any more, but momentum
that comes from when they were learned."""
import torch
import torch.nn.functional as F


def draw(classes, count=48):
    kind = torch.tensor(classes)[torch.randint(0, len(classes), (count,))]
    return CENTRES[kind] + 0.7 * torch.randn(count, 10), kind


def learn(classes, steps, frozen=0):
    for _ in range(steps):
        seen, kind = draw(classes)
        sgd.zero_grad()
        F.cross_entropy(head(torch.tanh(body(seen))), kind).backward()
        if frozen:
            head.weight.grad.data[:frozen] = 0.0
            head.bias.grad.data[:frozen] = 0.0
        sgd.step()  # <- AD206


torch.manual_seed(21)
CENTRES = 1.5 * torch.randn(6, 10)
body, head = torch.nn.Linear(10, 24), torch.nn.Linear(24, 6)
sgd = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.05, momentum=0.95)
learn([0, 1, 2, 3], 4)
learn([4, 5], 26, frozen=4)
with torch.no_grad():
    seen, kind = draw([0, 1, 2, 3], 400)
    print((head(torch.tanh(body(seen))).argmax(1) == kind).float().mean().item())
