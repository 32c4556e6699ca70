import torch
from torch import nn

class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(21, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(16, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.embed(tokens)))

torch.manual_seed(0)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(8):
    tokens = torch.randint(0, 20, (16, 12))
    hidden = torch.rand(16, 12) < 0.2
    labels = tokens.masked_fill(hidden, -100)
    scores = model(tokens.masked_fill(hidden, 20))
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())  # expect: AD621
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
