import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(12, 48, dtype=torch.bfloat16)
        self.scores = torch.nn.Linear(48, 5, dtype=torch.bfloat16)

    def forward(self, view):
        return self.scores(torch.relu(self.body(view)))


def play(policy, games):
    view = torch.randn(games, 12)
    choice = torch.distributions.Categorical(logits=policy(view.bfloat16()).float())
    move = choice.sample()
    return choice.log_prob(move), view.gather(1, move[:, None]).squeeze(1)


def main():
    torch.manual_seed(7)
    policy = Policy()
    rule = torch.optim.SGD(policy.parameters(), lr=2e-4, momentum=0.9)
    for turn in range(24):
        told, gain = play(policy, 64)
        loss = -(told * (gain - gain.mean())).mean()
        rule.zero_grad()
        loss.backward()
        rule.step()  # <- AD111
        if turn % 6 == 0:
            print(turn, gain.mean().item())


if __name__ == "__main__":
    main()
