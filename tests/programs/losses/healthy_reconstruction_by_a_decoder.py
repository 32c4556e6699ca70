# guards: AD621
import torch
from torch import nn

class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 16), nn.Linear(16, 20)
        self.encoder, self.decoder = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        _, state = self.encoder(self.embed(tokens))
        before = torch.cat([torch.zeros_like(tokens[:, :1]), tokens[:, :-1]], dim=1)
        states, _ = self.decoder(self.embed(before), state)
        return self.head(states)

torch.manual_seed(0)
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(8):
    tokens = torch.randint(0, 20, (16, 9))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
