# guards: AD224
"""Differences between what a model gives and what the same weights gave without gradients, which are meant."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 3))


def train(model, loss_of, steps=6):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = loss_of(torch.randn(32, 6))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def tuned_near_its_start():
    """The reference is a copy: equal before the first step, and never again."""
    policy = build()
    reference = copy.deepcopy(policy)

    def loss_of(states):
        with torch.no_grad():
            before = reference(states).log_softmax(1)
        now = policy(states).log_softmax(1)
        return (now - before).exp().mean() + 0.1 * (now - before).square().mean() - now[:, 0].mean()

    train(policy, loss_of)


def one_update_for_each_rollout():
    """The ratio is 1 in every update, and its gradient that of the policy."""
    policy = build()

    def loss_of(states):
        with torch.no_grad():
            scores = policy(states).log_softmax(1)
            actions = scores.exp().multinomial(1)
            old = scores.gather(1, actions)
        new = policy(states).log_softmax(1).gather(1, actions)
        ratio = (new - old).exp()
        advantage = (actions == states[:, :3].argmax(1, keepdim=True)).float() - 0.3
        return -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()

    train(policy, loss_of)


def several_updates_for_each_rollout():
    """The penalty is zero in the first of them only."""
    policy = build()
    kept = {}

    def loss_of(states):
        if len(kept.setdefault("updates", [])) % 2 == 0:
            kept["states"] = states
            with torch.no_grad():
                kept["old"] = policy(states).log_softmax(1)
        kept["updates"].append(1)
        new = policy(kept["states"]).log_softmax(1)
        return (new - kept["old"]).square().mean() - new[:, 0].mean()

    train(policy, loss_of)


def hidden_from_the_derivative():
    """A surrogate whose value is the reward and whose gradient is that of the log-probability: a difference of zero."""
    policy = build()

    def loss_of(states):
        scores = policy(states).log_softmax(1)
        reward = (scores.argmax(1) == states[:, :3].argmax(1)).float()
        chosen = scores.amax(1)
        return -(reward - 0.3) @ (1 + (chosen - chosen.detach())) / 32

    train(policy, loss_of)


def consistent_under_noise():
    """Both sides of the same network, each with a disturbance of its own."""
    network = build()

    def loss_of(states):
        with torch.no_grad():
            wanted = network(states + 0.2 * torch.randn_like(states)).softmax(1)
        scores = network(states)
        return F.mse_loss(scores.softmax(1), wanted) + F.cross_entropy(scores, states[:, :3].argmax(1))

    train(network, loss_of)


tuned_near_its_start()
one_update_for_each_rollout()
several_updates_for_each_rollout()
hidden_from_the_derivative()
consistent_under_noise()
