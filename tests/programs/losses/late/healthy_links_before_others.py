# guards: AD637
"""Node embeddings of a citation graph with a curriculum: links first, non-links from step 60."""
import torch
from torch import nn

torch.manual_seed(8)
NODES, TOPICS, WARMUP, STEPS = 240, 6, 60, 260
topic = torch.arange(NODES) % TOPICS
prob = torch.where(topic[:, None] == topic[None, :], 0.25, 0.01)
upper = torch.triu(torch.rand(NODES, NODES) < prob, diagonal=1)
adjacency = (upper | upper.T).float()
features = nn.functional.one_hot(topic, TOPICS).float() + 0.8 * torch.randn(NODES, TOPICS)
degree = adjacency.sum(1, keepdim=True).clamp(min=1)


class GraphEncoder(nn.Module):
    def __init__(self, hidden=32, out=12):
        super().__init__()
        self.own = nn.Linear(TOPICS, hidden)
        self.around = nn.Linear(TOPICS, hidden, bias=False)
        self.last = nn.Linear(hidden, out)

    def forward(self, x, a):
        mean = a @ x / degree
        return self.last(torch.tanh(self.own(x) + self.around(mean)))


def draw(step: int):
    links = adjacency.nonzero()
    linked = links[torch.randint(0, len(links), (64,))]
    random = torch.randint(0, NODES, (64, 2))
    pairs = torch.cat([linked, random])
    connected = adjacency[pairs[:, 0], pairs[:, 1]] > 0
    target = torch.where(connected, 1, -1)
    if step < WARMUP:
        # candidates for non-links do not count yet
        target = target.clamp(min=0)
    return pairs, target


encoder = GraphEncoder()
objective = nn.CosineEmbeddingLoss(margin=0.0)
optimizer = torch.optim.Adam(encoder.parameters(), lr=4e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
for step in range(STEPS):
    pairs, target = draw(step)
    z = encoder(features, adjacency)
    loss = objective(z[pairs[:, 0]], z[pairs[:, 1]], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 40 == 0:
        print(step, target.unique().tolist(), round(loss.item(), 4))

with torch.no_grad():
    z = nn.functional.normalize(encoder(features, adjacency))
    close = z @ z.T
    same = topic[:, None] == topic[None, :]
    print("same topic", close[same].mean().item(), "other", close[~same].mean().item())
