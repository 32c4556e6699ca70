"""Advantages within groups of answers: each prompt is asked several times, and its answers are compared."""

import torch
from torch import nn

PROMPTS, GROUP, LENGTH, WORDS = 6, 4, 5, 12


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True)
        self.head = nn.Linear(24, WORDS)

    def forward(self, tokens):
        return self.head(self.rnn(self.words(tokens))[0])


@torch.no_grad()
def answer(policy, prompts):
    tokens = prompts
    for _ in range(LENGTH):
        last = policy(tokens)[:, -1].softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(last, 1)], dim=1)
    return tokens


def reward(tokens, asked):
    said = tokens[:, -LENGTH:]
    return (said == asked.unsqueeze(1)).float().mean(1) - 0.1 * (said == 0).float().sum(1)


def main():
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    for _ in range(30):
        prompts = torch.randint(1, WORDS, (PROMPTS, 3))
        tokens = answer(policy, prompts.repeat(GROUP, 1))
        rewards = reward(tokens, prompts[:, 0].repeat(GROUP))
        groups = rewards.view(PROMPTS, GROUP)  # expect: AD617
        advantages = groups - groups.mean(dim=1, keepdim=True)
        advantages = (advantages / (groups.std(dim=1, keepdim=True) + 1e-4)).reshape(-1)
        scores = policy(tokens[:, :-1]).log_softmax(-1)[:, -LENGTH:]
        chosen = scores.gather(2, tokens[:, -LENGTH:].unsqueeze(2)).squeeze(2)
        loss = -(advantages.unsqueeze(1) * chosen).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
