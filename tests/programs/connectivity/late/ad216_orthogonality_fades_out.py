"""Retrieval with a penalty on its projection that a second stage hands over under `no_grad`."""

import torch
from torch import nn


def spread_of(weight, learn):
    with torch.set_grad_enabled(learn):
        gram = weight @ weight.T
        return (gram - torch.eye(len(gram))).square().mean()


def run(queries, documents, stages):
    head = nn.Linear(16, 8, bias=False)
    for name, epochs, learn in stages:
        optimizer = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)
        for _ in range(epochs):
            for rows in torch.arange(len(queries)).split(50):
                scores = head(queries[rows]) @ head(documents[rows]).T
                objective = nn.functional.cross_entropy(scores, torch.arange(len(rows)))
                objective = objective + 0.1 * spread_of(head.weight, learn)  # expect: AD216
                optimizer.zero_grad(set_to_none=True)
                objective.backward()
                optimizer.step()
        print(name, float(objective))


if __name__ == "__main__":
    torch.manual_seed(3)
    queries = torch.randn(400, 16)
    documents = queries + 0.3 * torch.randn(400, 16)
    run(queries, documents, [("warm", 8, True), ("main", 30, False)])
