from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, obs=6, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.policy = nn.Linear(32, actions)
        self.value = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return {"logits": self.policy(h), "value": self.value(h).squeeze(-1)}
