# guards: AD103
"""Two firms choose prices: each looks ahead along its last gradient, and steps from where it was (Popov, 1980)."""

import torch

torch.manual_seed(1)
prices = torch.nn.ParameterDict(
    {"ours": torch.nn.Parameter(torch.rand(5)), "theirs": torch.nn.Parameter(torch.rand(5))}
)
demand = torch.randn(5, 5) / 3
optimizer = torch.optim.SGD(prices.parameters(), lr=0.1)


def measure():
    optimizer.zero_grad()
    gain = prices["ours"] @ demand @ prices["theirs"] + 0.1 * (prices["ours"] - prices["theirs"]).sum()
    gain.backward()
    prices["theirs"].grad.neg_()
    return gain.item()


measure()
for turn in range(60):
    before = {name: price.detach().clone() for name, price in prices.items()}
    optimizer.step()
    gain = measure()
    with torch.no_grad():
        for name, price in prices.items():
            price.copy_(before[name])
    optimizer.step()
    if turn % 10 == 0:
        print(turn, gain)
