# guards: AD202
"""Values that are handed on without a graph from step to step of a loop, for a reason each."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(4)


def adam(*modules: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam([weight for one in modules for weight in one.parameters()], lr=3e-3)


def learn(loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


stream, tells = nn.GRUCell(3, 12), nn.Linear(12, 3)
of_stream = adam(stream, tells)
flow = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
of_flow = adam(flow)
layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(5)])
heads = nn.ModuleList([nn.Linear(8, 3) for _ in range(5)])
of_layers = adam(layers, heads)
speaker, embeds, says = nn.GRUCell(6, 12), nn.Embedding(5, 6), nn.Linear(12, 5)
of_speaker = adam(speaker, embeds, says)
reader, answers = nn.GRUCell(3, 12), nn.Linear(12, 3)
of_reader = adam(reader, answers)
solves = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
of_solves = adam(solves)
slow, fast = nn.GRUCell(3, 12), nn.Linear(12, 3)
of_slow = adam(slow, fast)

for step in range(8):
    heard = F.one_hot(torch.randint(3, (9, 16)), 3).float()

    # A stream that learns online: backward at each step, one graph at a time.
    state = torch.zeros(16, 12)
    of_stream.zero_grad()
    for now, then in zip(heard, heard[1:]):
        state = stream(now, state.detach())
        (F.mse_loss(tells(state), then) / 8).backward()
    of_stream.step()

    # A simulator that starts from its own last prediction, each of which is compared.
    place, loss = torch.randn(16, 2), torch.zeros(())
    for _ in range(6):
        wanted = place @ torch.tensor([[0.9, 0.1], [-0.1, 0.9]])
        place = place + flow(place)
        loss = loss + F.mse_loss(place, wanted)
        place = place.detach()
    learn(loss, of_flow)

    # Layers that learn one by one, each from a head of its own.
    x = torch.randn(16, 8)
    label, loss = x[:, :3].argmax(1), torch.zeros(())
    for layer, head in zip(layers, heads):
        x = layer(x.detach()).relu()
        loss = loss + F.cross_entropy(head(x), label)
    learn(loss, of_layers)

    # A speaker that goes on from what it said, and from a state that keeps its graph.
    word, state, loss = torch.randint(5, (16,)), torch.zeros(16, 12), torch.zeros(())
    for _ in range(6):
        state = speaker(embeds(word), state)
        scores = says(state)
        loss = loss + F.cross_entropy(scores, (word + 1) % 5)
        word = scores.detach().argmax(1)
    learn(loss, of_speaker)

    # Windows of three steps within a longer one: truncated, not cut at each step.
    state, loss = torch.zeros(16, 12), torch.zeros(())
    for number, (now, then) in enumerate(zip(heard.repeat(2, 1, 1), heard.repeat(2, 1, 1)[1:])):
        state = reader(now, state.detach() if number % 3 == 0 else state)
        loss = loss + F.mse_loss(answers(state), then)
    learn(loss, of_reader)

    # A fixed point, found without a graph, of which the last step learns.
    point = torch.zeros(16, 4)
    given = torch.randn(16, 4)
    for _ in range(6):
        point = solves(point.detach()) * 0.5 + given
    learn(F.mse_loss(solves(point), given), of_solves)

    # What is remembered for a display only.
    state, loss, shown = torch.zeros(16, 12), torch.zeros(()), torch.zeros(16, 12)
    for now, then in zip(heard, heard[1:]):
        state = slow(now, state)
        shown = 0.9 * shown + 0.1 * state.detach()
        loss = loss + F.mse_loss(fast(state), then)
    learn(loss, of_slow)
