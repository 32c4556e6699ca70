import torch
from torch import nn


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.ELU(), nn.Linear(24, 4))

    def forward(self, x):
        return nn.functional.normalize(self.body(x), dim=-1)


def triples(points, labels, count):
    anchor = torch.randint(0, len(points), (count,))
    other = torch.randint(0, len(points), (count,))
    return points[anchor], points[other], labels[anchor] != labels[other]


torch.manual_seed(4)
labels = torch.randint(0, 3, (200,))
points = torch.randn(3, 6)[labels] + 0.4 * torch.randn(200, 6)
embedder = Embedder()
optimizer = torch.optim.Adam(embedder.parameters(), lr=3e-3)
criterion = nn.TripletMarginLoss(margin=0.5)
for step in range(60):
    anchors, others, apart = triples(points, labels, 40)
    loss = criterion(
        embedder(anchors)[apart],
        embedder(anchors)[apart],  # <- AD716
        embedder(others)[apart],
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
