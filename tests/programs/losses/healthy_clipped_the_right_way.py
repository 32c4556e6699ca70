# guards: AD609 AD224
"""Choices of one of two beside ratios: objectives that are climbed, costs, bounds on values, and twin critics."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(5)


def policy():
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))


def adam(*modules, **more):
    return torch.optim.Adam([weight for one in modules for weight in one.parameters()], lr=3e-3, **more)


def learn(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def ratio_of(actor, states, actions, before):
    return (Categorical(logits=actor(states)).log_prob(actions) - before).exp()


usual, spender, climber, rival = policy(), policy(), policy(), policy()
of_usual, of_spender, of_climber, of_rival = adam(usual), adam(spender), adam(climber, maximize=True), adam(rival)
value = nn.Linear(4, 1)
of_value = adam(value)
twins = nn.ModuleList([nn.Linear(7, 1), nn.Linear(7, 1)])
actor = nn.Linear(4, 3)
of_twins, of_actor = adam(twins), adam(actor)

for step in range(8):
    states = torch.randn(48, 4)
    with torch.no_grad():
        known = [Categorical(logits=each(states)) for each in (usual, spender, climber, rival)]
        taken = [each.sample() for each in known]
        before = [each.log_prob(action) for each, action in zip(known, taken)]
        guess = value(states).squeeze(1)
    gain = (taken[0] == states[:, :3].argmax(1)).float() - 0.4

    # The lower one is climbed, by a minus, beside the loss of a critic that is clipped, too.
    ratio = ratio_of(usual, states, taken[0], before[0])
    now = value(states).squeeze(1)
    kept = guess + (now - guess).clamp(-0.2, 0.2)
    of_critic = torch.max((now - gain) ** 2, (kept - gain) ** 2).mean()
    of_value.zero_grad()
    learn(-torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean() + 0.5 * of_critic, of_usual)
    of_value.step()

    # Costs go down: the higher one bounds them from above.
    cost = (taken[1] == 2).float() - 0.3
    ratio = ratio_of(spender, states, taken[1], before[1])
    learn(torch.max(ratio * cost, ratio.clamp(0.8, 1.2) * cost).mean(), of_spender)

    # An optimizer that climbs.
    ratio = ratio_of(climber, states, taken[2], before[2])
    learn(torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean(), of_climber)

    # A rival, whose gain is what the other one loses.
    ratio = ratio_of(rival, states, taken[3], before[3])
    learn(torch.max(gain * ratio, gain * ratio.clamp(0.8, 1.2)).mean(), of_rival)

    # Two critics, of which the lower one is believed.
    wanted = states[:, 0]
    chosen = actor(states).tanh()
    both = torch.cat([states, chosen.detach()], 1)
    learn(sum((twin(both).squeeze(1) - wanted).square().mean() for twin in twins), of_twins)
    both = torch.cat([states, chosen], 1)
    learn(-torch.min(twins[0](both), twins[1](both)).mean(), of_actor)
