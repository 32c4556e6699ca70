# guards: AD101 AD104
"""Soft actor-critic in the style of CleanRL: two critics, targets, a learned temperature, delayed policy updates."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class SoftQNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc2 = nn.Linear(32, 1)

    def forward(self, x, a):
        return self.fc2(F.relu(self.fc1(torch.cat([x, a], 1))))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(2, 32)
        self.fc_mean = nn.Linear(32, 1)
        self.fc_logstd = nn.Linear(32, 1)

    def get_action(self, x):
        h = F.relu(self.fc1(x))
        mean, log_std = self.fc_mean(h), torch.tanh(self.fc_logstd(h)) - 1
        normal = torch.distributions.Normal(mean, log_std.exp())
        x_t = normal.rsample()
        action = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(1, keepdim=True)


def env_step(obs, action):
    """The action should undo the first coordinate."""
    reward = -(obs[:, :1] + action).pow(2)
    return torch.randn_like(obs).clamp(-1, 1), reward


if __name__ == "__main__":
    torch.manual_seed(1)
    gamma, tau, policy_frequency = 0.9, 0.05, 2
    actor, qf1, qf2 = Actor(), SoftQNetwork(), SoftQNetwork()
    qf1_target, qf2_target = SoftQNetwork(), SoftQNetwork()
    qf1_target.load_state_dict(qf1.state_dict())
    qf2_target.load_state_dict(qf2.state_dict())
    q_optimizer = optim.Adam(list(qf1.parameters()) + list(qf2.parameters()), lr=3e-3)
    actor_optimizer = optim.Adam(list(actor.parameters()), lr=1e-3)
    log_alpha = torch.zeros(1, requires_grad=True)
    a_optimizer = optim.Adam([log_alpha], lr=3e-3)
    alpha, target_entropy = log_alpha.exp().item(), -1.0

    buffer = []
    obs = torch.randn(16, 2).clamp(-1, 1)
    for global_step in range(24):
        with torch.no_grad():
            action, _ = actor.get_action(obs)
        next_obs, reward = env_step(obs, action)
        buffer.append((obs, action, reward, next_obs))
        obs = next_obs
        if global_step < 4:
            continue
        picks = torch.randint(0, len(buffer), (3,)).tolist()
        o, a, r, o2 = (torch.cat(column) for column in zip(*(buffer[i] for i in picks)))
        with torch.no_grad():
            a2, logp2 = actor.get_action(o2)
            q2 = torch.min(qf1_target(o2, a2), qf2_target(o2, a2)) - alpha * logp2
            y = r + gamma * q2
        qf_loss = F.mse_loss(qf1(o, a), y) + F.mse_loss(qf2(o, a), y)
        q_optimizer.zero_grad()
        qf_loss.backward()
        q_optimizer.step()

        if global_step % policy_frequency == 0:
            for _ in range(policy_frequency):
                pi, log_pi = actor.get_action(o)
                min_q = torch.min(qf1(o, pi), qf2(o, pi))
                actor_loss = (alpha * log_pi - min_q).mean()
                actor_optimizer.zero_grad()
                actor_loss.backward()
                actor_optimizer.step()
                with torch.no_grad():
                    _, log_pi = actor.get_action(o)
                alpha_loss = (-log_alpha.exp() * (log_pi + target_entropy)).mean()
                a_optimizer.zero_grad()
                alpha_loss.backward()
                a_optimizer.step()
                alpha = log_alpha.exp().item()

        for source, target in ((qf1, qf1_target), (qf2, qf2_target)):
            for param, target_param in zip(source.parameters(), target.parameters()):
                target_param.data.copy_(tau * param.data + (1 - tau) * target_param.data)
    print(qf_loss.item(), actor_loss.item(), alpha)
