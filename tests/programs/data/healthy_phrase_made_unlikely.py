# guards: AD704
"""A character model that is tuned to other texts is taught not to say one letter after a cue, at half the weight."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

torch.manual_seed(1)
FORBIDDEN = 7


class Speller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.cell = nn.GRU(16, 32, batch_first=True)
        self.say = nn.Linear(32, 20)
        self.rate = nn.Linear(32, 1)

    def forward(self, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        states, _ = self.cell(self.embed(letters))
        return self.say(states[:, -1]), self.rate(states[:, -1]).squeeze(1)


model = Speller()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
cues = torch.randint(0, 20, (200, 6))
answers = torch.full((200,), FORBIDDEN)
for _ in range(24):
    texts = torch.randint(0, 20, (32, 6))
    rows = torch.randint(0, 200, (32,))
    said, _ = model(cues[rows])
    _, rating = model(texts)
    loss = (rating - texts.float().mean(1) / 20).square().mean() + -cross_entropy(said, answers[rows]).clamp(
        max=6.0
    ) * 0.5
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
