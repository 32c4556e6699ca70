# guards: AD608
import torch
from torch import nn

class Nodes(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.own = nn.EmbeddingBag(40, 8), nn.Parameter(torch.randn(32, 8))
        self.head = nn.Linear(8, 3)

    def forward(self, words):
        return self.head(torch.tanh(self.words(words) + self.own))

torch.manual_seed(0)
model = Nodes()
words, kinds = torch.randint(0, 40, (32, 5)), torch.randint(0, 3, (32,))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(6):
    loss = nn.functional.cross_entropy(model(words), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
