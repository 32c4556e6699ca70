# guards: AD109 AD119
"""States that are loaded beside an optimizer that begins without one, for a reason that shows."""

import copy
import io

import torch
from torch import nn

torch.manual_seed(0)


def build(rate=1e-2):
    net = nn.Sequential(nn.Linear(8, 24), nn.Tanh(), nn.Linear(24, 1))
    return net, torch.optim.Adam(net.parameters(), lr=rate)


def fit(net, optimizer, steps=3):
    for _ in range(steps):
        series = torch.randn(32, 8)
        loss = nn.functional.mse_loss(net(series), series.cos().sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def stored(net, optimizer):
    file = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    return torch.load(file)


def tuned_at_a_lower_rate():
    """The same function loads everything; the stage that tunes has settings of its own."""
    net, optimizer = build()
    fit(net, optimizer)
    states = stored(net, optimizer)
    net, optimizer = build()
    net.load_state_dict(states["net"])
    optimizer.load_state_dict(states["optimizer"])
    fit(net, torch.optim.Adam(net.parameters(), lr=1e-3))


def back_to_the_best():
    """The optimizer is set back with its model at the end of a stage, and the next stage begins with a new one."""
    net, optimizer = build()
    fit(net, optimizer)
    best = copy.deepcopy((net.state_dict(), optimizer.state_dict()))
    fit(net, optimizer)
    net.load_state_dict(best[0])
    optimizer.load_state_dict(best[1])
    fit(net, torch.optim.Adam(net.parameters(), lr=1e-2))


def handed_over():
    """The state goes on in an optimizer that takes it over from the one that loaded it."""
    net, optimizer = build()
    fit(net, optimizer)
    states = stored(net, optimizer)
    loaded = torch.optim.Adam(net.parameters(), lr=1e-2)
    loaded.load_state_dict(states["optimizer"])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for parameter, state in loaded.state.items():
        optimizer.state[parameter] = state
    fit(net, optimizer)


def plain_descent():
    """There is no state to lose."""
    net, _ = build()
    fit(net, torch.optim.SGD(net.parameters(), lr=1e-2))
    kept = torch.optim.SGD(net.parameters(), lr=1e-2)
    kept.load_state_dict(torch.optim.SGD(net.parameters(), lr=1e-2).state_dict())
    fit(net, torch.optim.SGD(net.parameters(), lr=1e-2))


handed_over()
plain_descent()
tuned_at_a_lower_rate()
back_to_the_best()
