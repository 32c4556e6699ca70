# guards: AD125 AD105
"""Clients of one model, each with its own clipped gradient that the server takes away, averages and gives back."""

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, parameters_to_vector, vector_to_parameters


class Server:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.3)

    def round(self, clients):
        answers = [self.gradient(*client) for client in clients]
        mean = [torch.stack(parts).mean(0) for parts in zip(*answers)]
        for parameter, gradient in zip(self.model.parameters(), mean):
            parameter.grad = gradient
        self.optimizer.step()

    def gradient(self, images, labels):
        self.model.zero_grad(set_to_none=False)
        nn.functional.cross_entropy(self.model(images), labels).backward()
        clip_grad_norm_(self.model.parameters(), 0.1)
        return [parameter.grad.clone() for parameter in self.model.parameters()]


torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(25, 12), nn.ReLU(), nn.Linear(12, 3))
vector_to_parameters(parameters_to_vector(model.parameters()) * 1.5, model.parameters())
server = Server(model)
strokes = torch.randn(3, 5, 5)
for _ in range(10):
    drawn = [torch.randint(3, (10,)) for _ in range(4)]
    server.round([(strokes[labels] + 0.5 * torch.randn(10, 5, 5), labels) for labels in drawn])
