# guards: AD609
"""Losses below zero that are right: densities, returns, similarities, critics, attacks, scores that are maximised."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical, Normal

torch.manual_seed(7)
density = nn.Linear(3, 2)
policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
left, right = nn.Linear(3, 4), nn.Linear(3, 4)
critic = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), nn.Linear(8, 1))
classifier = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
scored = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))


def adam(module, **more):
    return torch.optim.Adam(module.parameters(), lr=5e-3, **more)


of_density, of_policy, of_pair = adam(density), adam(policy), adam(nn.ModuleList([left, right]))
of_critic, of_classifier, of_scored = adam(critic), adam(classifier), adam(scored, maximize=True)


def learn(loss, optimizer):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for step in range(24):
    x = torch.randn(32, 3)

    mean, log_scale = density(x).chunk(2, dim=1)
    near = x[:, :1] + 0.01 * torch.randn(32, 1)
    learn(-Normal(mean, log_scale.clamp(-3, 1).exp()).log_prob(near).mean(), of_density)

    choice = Categorical(logits=policy(x))
    action = choice.sample()
    reward = (action == (x[:, 0] > 0).long()).float()
    chosen = -F.cross_entropy(policy(x), action, reduction="none")
    learn(-(chosen * reward).mean() - 0.01 * choice.entropy().mean(), of_policy)

    learn(-F.cosine_similarity(left(x), right(x + 0.1 * torch.randn(32, 3))).mean(), of_pair)

    learn(critic(x + 1).mean() - critic(x).mean() + 0.1 * critic(x).square().mean(), of_critic)

    label = (x[:, 0] > 0).long()
    learn(F.cross_entropy(classifier(x), label), of_classifier)
    delta = torch.zeros_like(x, requires_grad=True)
    attack = torch.optim.SGD([delta], lr=0.5)
    harm = -F.cross_entropy(classifier(x + delta), label)
    attack.zero_grad()
    harm.backward()
    attack.step()
    classifier.zero_grad()
    learn(F.cross_entropy(classifier(x + delta.detach()), label), of_classifier)

    learn(-F.mse_loss(scored(x), x.sum(1, keepdim=True)), of_scored)
print(harm.item())
