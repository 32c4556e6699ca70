"""Word vectors from skip-grams; the optimizer is had from a small registry, whose entries are made at each look-up."""
import torch
import torch.nn.functional as F

torch.manual_seed(1)
VOCABULARY, SIZE = 40, 12
words, contexts = (torch.nn.Embedding(VOCABULARY, SIZE) for _ in range(2))
tables = torch.nn.ModuleList([words, contexts])

REGISTRY = {
    "adam": lambda: torch.optim.Adam(tables.parameters(), lr=0.02),  # expect: AD109
    "sgd": lambda: torch.optim.SGD(tables.parameters(), lr=0.5),
}


def optimizer(name="adam"):
    return REGISTRY[name]()


def pairs(count):
    middle = torch.randint(0, VOCABULARY, (count,))
    near = (middle + torch.randint(1, 4, (count,))) % VOCABULARY
    return middle, near, torch.randint(0, VOCABULARY, (count,))


for _ in range(40):
    middle, near, far = pairs(64)
    centre = words(middle)
    hit = (centre * contexts(near)).sum(1)
    miss = (centre * contexts(far)).sum(1)
    loss = -(F.logsigmoid(hit) + F.logsigmoid(-miss)).mean()
    optimizer().zero_grad()
    loss.backward()
    optimizer().step()
