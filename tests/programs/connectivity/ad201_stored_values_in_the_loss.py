import torch
from torch import nn
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))
        self.value = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))

    def act(self, state):
        dist = Categorical(logits=self.body(state))
        action = dist.sample()
        return action, dist.log_prob(action), self.value(state).squeeze(-1)

    def evaluate(self, state, action):
        dist = Categorical(logits=self.body(state))
        return dist.log_prob(action), dist.entropy(), self.value(state).squeeze(-1)


torch.manual_seed(0)
net = ActorCritic()
optim = torch.optim.Adam(net.parameters(), lr=3e-3)
for iteration in range(4):
    memory = {"s": [], "a": [], "logp": [], "v": [], "r": []}
    state = torch.rand(16, 3)
    for _ in range(5):
        with torch.no_grad():
            action, logp, value = net.act(state)
        reward = (action == (state.sum(1) > 1.5).long()).float()
        for key, item in zip("s a logp v r".split(), (state, action, logp, value, reward)):
            memory[key].append(item)
        state = torch.rand(16, 3)
    returns, running = [], torch.zeros(16)
    for reward in reversed(memory["r"]):
        running = reward + 0.9 * running
        returns.insert(0, running)
    s, a, old = torch.cat(memory["s"]), torch.cat(memory["a"]), torch.cat(memory["logp"])
    v, g = torch.cat(memory["v"]), torch.cat(returns)
    adv = g - v
    for _ in range(4):
        logp, entropy, values = net.evaluate(s, a)
        ratio = torch.exp(logp - old)
        actor = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        critic = nn.functional.mse_loss(v, g)
        total = actor + 0.5 * critic - 0.01 * entropy.mean()  # <- AD201
        optim.zero_grad()
        total.backward()
        optim.step()
    print(iteration, torch.cat(memory["r"]).mean().item(), critic.item())
