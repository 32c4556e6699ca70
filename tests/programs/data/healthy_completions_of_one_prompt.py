# guards: AD715
# hinted: AD715
"""GRPO (Shao et al. 2024) on a toy writing task: a group of completions per prompt, advantages within the group."""

import random

import torch
from torch import nn
from torch.distributions import Categorical

BOS, VOCAB, PROMPT, ANSWER, GROUP = 0, 9, 4, 4, 12


class PolicyLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.reader = nn.GRU(dim, dim, batch_first=True)
        self.writer = nn.GRUCell(dim, dim)
        self.head = nn.Linear(dim, VOCAB)

    def start(self, prompts):
        return self.reader(self.embed(prompts))[1][0]

    def sample(self, prompts):
        state, token, out = self.start(prompts), torch.full((len(prompts),), BOS), []
        for _ in range(ANSWER):
            state = self.writer(self.embed(token), state)
            token = Categorical(logits=self.head(state)).sample()
            out.append(token)
        return torch.stack(out, 1)

    def log_probs(self, prompts, answers):
        state, token, out = self.start(prompts), torch.full((len(prompts),), BOS), []
        for t in range(ANSWER):
            state = self.writer(self.embed(token), state)
            token = answers[:, t]
            out.append(self.head(state).log_softmax(-1).gather(1, token[:, None]).squeeze(1))
        return torch.stack(out, 1)


def tokenize(texts):
    return torch.tensor([[int(c) for c in text] for text in texts])


def reward(prompt, answers):
    """Share of answer tokens that lie in the prompt's half of the alphabet (by its first token)."""
    high = int(prompt[0]) > 4
    inside = answers > 4 if high else (answers >= 1) & (answers <= 4)
    return inside.float().mean(1)


def main():
    random.seed(0)
    torch.manual_seed(0)
    policy = PolicyLM()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    history = []
    for step in range(200):
        prompt = "".join(random.choice("12345678") for _ in range(PROMPT))
        ids = tokenize([prompt] * GROUP)
        with torch.no_grad():
            answers = policy.sample(ids)
            old = policy.log_probs(ids, answers)
        score = reward(prompt, answers)
        history.append(score.mean().item())
        advantage = ((score - score.mean()) / (score.std() + 1e-4)).unsqueeze(1)
        for _ in range(2):
            ratio = (policy.log_probs(ids, answers) - old).exp()
            loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1}: mean reward of the last 40 prompts {sum(history[-40:]) / 40:.3f}")


main()
