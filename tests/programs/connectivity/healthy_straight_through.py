# guards: AD202
"""A discrete bottleneck with a straight-through estimator."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class DiscreteBottleneck(nn.Module):
    def __init__(self, n_in=12, n_codes=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, n_codes))
        self.codes = nn.Embedding(n_codes, 8)
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, n_in))

    def forward(self, x):
        logits = self.encoder(x)
        soft = logits.softmax(-1)
        hard = F.one_hot(logits.argmax(-1), logits.size(-1)).float()
        z = (hard + soft - soft.detach()) @ self.codes.weight
        return self.decoder(z)


def main():
    torch.manual_seed(1)
    prototypes = torch.randn(6, 12)
    model = DiscreteBottleneck()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(60):
        x = prototypes[torch.randint(0, 6, (64,))] + 0.1 * torch.randn(64, 12)
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"{step:3d} {loss.item():.4f}")


if __name__ == "__main__":
    main()
