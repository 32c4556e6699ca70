import torch


class Policy(torch.nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.first = torch.nn.Parameter(torch.empty(32, observations))
        self.second = torch.nn.Parameter(torch.empty(actions, 32))
        self.shift = torch.nn.Parameter(torch.empty(actions))
        self.reset()

    def reset(self):
        with torch.no_grad():
            for weight in self.parameters():
                weight.zero_()  # <- AD606

    def forward(self, x):
        return torch.tanh(x @ self.first.T) @ self.second.T + self.shift


def returns_of(states, actions):
    return (states[:, 0] > 0).eq(actions.bool()).float() - 0.5


torch.manual_seed(5)
policy = Policy(6, 2)
optimizer = torch.optim.RMSprop(policy.parameters(), lr=0.01)
for iteration in range(20):
    states = torch.randn(64, 6)
    choice = torch.distributions.Categorical(logits=policy(states))
    actions = choice.sample()
    gain = choice.log_prob(actions) * returns_of(states, actions)
    optimizer.zero_grad()
    (-gain.mean()).backward()
    optimizer.step()
