# guards: AD631 AD632 AD630
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
policy, baseline = nn.Linear(32, 3), nn.Linear(32, 1)
everything = nn.ModuleList([body, policy, baseline])
optimizer = torch.optim.RMSprop(everything.parameters(), lr=1e-3, eps=0.01)


def rollout(behaviour, length=6, envs=8):
    state = torch.randn(envs, 4)
    fields = {"states": [], "actions": [], "logits": [], "rewards": [], "discounts": []}
    for _ in range(length):
        with torch.no_grad():
            logits = behaviour(state)
        action = Categorical(logits=logits).sample()
        fields["states"].append(state)
        fields["actions"].append(action)
        fields["logits"].append(logits)
        fields["rewards"].append(state.gather(1, action[:, None]).squeeze(1))
        done = torch.rand(envs) < 0.1
        fields["discounts"].append(0.97 * (~done).float())
        state = torch.where(done[:, None], torch.randn(envs, 4), 0.8 * state + 0.5 * torch.randn(envs, 4))
    return {key: torch.stack(value) for key, value in fields.items()}, state


for update in range(24):
    batch, last = rollout(lambda s: policy(body(s)) + 0.1 * torch.randn(s.shape[0], 3))
    hidden = body(batch["states"])
    current, value = Categorical(logits=policy(hidden)), baseline(hidden).squeeze(-1)
    log_prob = current.log_prob(batch["actions"])
    with torch.no_grad():
        final = baseline(body(last)).squeeze(-1)
        ratio = (log_prob - Categorical(logits=batch["logits"]).log_prob(batch["actions"])).exp()
        rho = ratio.clamp(max=1.0)
        following = torch.cat([value[1:], final[None]])
        deltas = rho * (batch["rewards"] + batch["discounts"] * following - value)
        correction, corrections = torch.zeros_like(final), []
        for t in reversed(range(len(deltas))):
            correction = deltas[t] + batch["discounts"][t] * rho[t] * correction
            corrections.append(correction)
        vs = torch.stack(corrections[::-1]) + value
        advantage = rho * (batch["rewards"] + batch["discounts"] * torch.cat([vs[1:], final[None]]) - value)
    policy_loss = -(log_prob * advantage).mean()
    value_loss = 0.5 * (vs - value).pow(2).mean()
    entropy_loss = -current.entropy().mean()
    loss = policy_loss + 0.5 * value_loss + 0.01 * entropy_loss
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(everything.parameters(), 40.0)
    optimizer.step()
