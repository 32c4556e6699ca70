# guards: AD631
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
tokens = torch.randint(1, 12, (256, 9))
tokens[:, 1:] = torch.where(torch.rand(256, 8) < 0.8, tokens[:, :-1] % 11 + 1, tokens[:, 1:])
lengths = torch.randint(5, 10, (256,))
mask = (torch.arange(9)[None] < lengths[:, None]).float()


class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.router = nn.Embedding(12, 16), nn.Linear(16, 3)
        self.experts = nn.ModuleList([nn.Linear(16, 12) for _ in range(3)])

    def forward(self, ids):
        hidden = self.embed(ids)
        gates = Categorical(logits=self.router(hidden))
        outputs = torch.stack([expert(hidden) for expert in self.experts], dim=-1)
        return Categorical(logits=(outputs * gates.probs.unsqueeze(2)).sum(-1)), gates


model = Routed()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for rows in torch.randperm(256).split(32):
        predicted, gates = model(tokens[rows, :-1])
        log_prob = predicted.log_prob(tokens[rows, 1:])
        loss = -(log_prob * mask[rows, 1:]).mean()
        loss = loss + 0.01 * gates.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
