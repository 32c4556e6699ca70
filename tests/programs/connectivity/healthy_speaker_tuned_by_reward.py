# guards: AD210
"""A caption model learns with dropout from examples; tuned by reward, it acts and learns without, and says so first."""

import torch
from torch import nn
from torch.distributions import Categorical


class Speaker(nn.Module):
    def __init__(self, scenes=5, words=6):
        super().__init__()
        self.look = nn.Sequential(nn.Linear(scenes, 32), nn.ReLU(), nn.Dropout(0.3))
        self.say = nn.Linear(32, words)

    def forward(self, scene):
        return Categorical(logits=self.say(self.look(scene)))


torch.manual_seed(0)
meaning = torch.randn(5, 6)
speaker = Speaker()
optimizer = torch.optim.Adam(speaker.parameters(), lr=5e-3)
scenes = torch.randn(120, 5)
captions = (scenes @ meaning + torch.randn(120, 6)).argmax(1)
for epoch in range(2):
    speaker.train()
    for batch in torch.randperm(96).split(16):
        optimizer.zero_grad()
        loss = -speaker(scenes[batch]).log_prob(captions[batch]).mean()
        loss.backward()
        optimizer.step()
    speaker.eval()
    with torch.no_grad():
        print("examples", -speaker(scenes[96:]).log_prob(captions[96:]).mean().item())

speaker.eval()
tuning = torch.optim.SGD(speaker.parameters(), lr=0.02)
for _ in range(5):
    shown = torch.randn(64, 5)
    with torch.no_grad():
        said = speaker(shown)
        words = said.sample()
        before = said.log_prob(words)
        reward = (shown @ meaning).gather(1, words[:, None]).squeeze(1)
    for _ in range(3):
        ratio = (speaker(shown).log_prob(words) - before).exp()
        objective = -(ratio * (reward - reward.mean())).mean()
        tuning.zero_grad()
        objective.backward()
        tuning.step()
    print("reward", reward.mean().item())
