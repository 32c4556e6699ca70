"""A softmax over a few drawn classes of many: `reset` was meant for the validation, and runs before each batch."""

import torch
import torch.nn.functional as F


class Sampled(torch.nn.Module):
    def __init__(self, classes=800, width=10, drawn=64):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(classes, width) / width**0.5)
        self.drawn, self.generator = drawn, torch.Generator()

    def reset(self):
        self.generator.manual_seed(99)

    def forward(self, features, labels):
        rivals = torch.randint(len(self.weight), (self.drawn,), generator=self.generator)  # expect: AD709
        own = (features * self.weight[labels]).sum(1, keepdim=True)
        scores = torch.cat([own, features @ self.weight[rivals].T], dim=1)
        return F.cross_entropy(scores, torch.zeros(len(labels), dtype=torch.long))


torch.manual_seed(2)
body = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
head = Sampled()
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.2, momentum=0.9)
means = torch.randn(800, 20)
for step in range(24):
    labels = torch.randint(800, (40,))
    head.reset()
    loss = head(body(means[labels] + 0.1 * torch.randn(40, 20)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
