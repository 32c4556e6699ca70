"""A language model learns from rewards of its replies; the old scores are cut at the reply, the new ones a token before."""

import torch
from torch import nn

TOKENS, PROMPT, REPLY = 20, 4, 8


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.recur = nn.Embedding(TOKENS, 24), nn.GRU(24, 32, batch_first=True)
        self.head = nn.Linear(32, TOKENS)

    def forward(self, tokens):
        return self.head(self.recur(self.embed(tokens))[0])

    def scores(self, tokens):
        chances = self(tokens[:, :-1]).log_softmax(-1)
        return chances.gather(2, tokens[:, 1:].unsqueeze(2)).squeeze(2)

    @torch.no_grad()
    def reply(self, tokens):
        for _ in range(REPLY):
            chances = self(tokens)[:, -1].softmax(-1)
            tokens = torch.cat([tokens, torch.multinomial(chances, 1)], 1)
        return tokens


torch.manual_seed(0)
writer = Writer()
optimizer = torch.optim.AdamW(writer.parameters(), lr=1e-3)
for cycle in range(6):
    texts = writer.reply(torch.randint(0, TOKENS, (16, PROMPT)))
    with torch.no_grad():
        old = writer.scores(texts)[:, PROMPT - 1 :]
    gains = (texts[:, PROMPT:] < 5).float().mean(1, keepdim=True)
    gains = (gains - gains.mean()) / (gains.std() + 1e-6)
    for _ in range(2):
        ratio = torch.exp(writer.scores(texts)[:, PROMPT - 2 : -1] - old)  # expect: AD228
        loss = -torch.min(ratio * gains, ratio.clamp(0.8, 1.2) * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
