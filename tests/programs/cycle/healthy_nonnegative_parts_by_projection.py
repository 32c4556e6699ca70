# guards: AD112
"""Topics and their weights stay non-negative and add up to one: a projection, written as an optimizer over both."""

import torch


class Simplex(torch.optim.Optimizer):
    """Projects rows onto the simplex (Duchi et al.)."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            values = parameter.data
            ordered = values.sort(dim=1, descending=True).values
            surplus = ordered.cumsum(1) - 1
            count = (ordered * torch.arange(1, values.shape[1] + 1) > surplus).sum(1, keepdim=True)
            parameter.data = (values - surplus.gather(1, count - 1) / count).clamp_min(0)


torch.manual_seed(1)
documents = torch.distributions.Dirichlet(torch.ones(15)).sample((40,))
mixture = torch.nn.Parameter(torch.full((40, 4), 0.25))
topics = torch.nn.Parameter(torch.distributions.Dirichlet(torch.ones(15)).sample((4,)))
descent = torch.optim.SGD([mixture, topics], lr=0.02, momentum=0.5)
project = Simplex([mixture, topics])
for _ in range(30):
    error = (mixture @ topics - documents).square().sum()
    descent.zero_grad()
    error.backward()
    descent.step()
    project.step()
