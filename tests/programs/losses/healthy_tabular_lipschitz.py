# guards: AD633
import torch
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, TensorDataset


class LipschitzPenalty(nn.Module):
    """One-sided: slopes below the bound cost nothing."""

    def __init__(self, bound: float = 1.0) -> None:
        super().__init__()
        self.bound = bound

    def forward(self, critic: nn.Module, a: Tensor, b: Tensor) -> Tensor:
        mix = torch.rand(a.shape[0], 1)
        x = torch.lerp(a, b, mix).detach().requires_grad_(True)
        slope = torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]
        length = slope.square().sum(dim=1).add(1e-10).sqrt()
        return torch.relu(length - self.bound).square().mean()


class RowGAN:
    def __init__(self, width: int = 5, noise: int = 4) -> None:
        self.noise = noise
        self.maker = nn.Sequential(nn.Linear(noise, 48), nn.ELU(), nn.Linear(48, width))
        self.critic = nn.Sequential(nn.Linear(width, 48), nn.ELU(), nn.Linear(48, 48), nn.ELU(), nn.Linear(48, 1))
        self.penalty = LipschitzPenalty()
        self.optims = {
            "maker": optim.RMSprop(self.maker.parameters(), lr=5e-4),
            "critic": optim.RMSprop(self.critic.parameters(), lr=5e-4),
        }

    def apply(self, which: str, loss: Tensor) -> float:
        self.optims[which].zero_grad()
        loss.backward()
        self.optims[which].step()
        return float(loss)

    def fit(self, table: Tensor, epochs: int) -> None:
        for epoch in range(epochs):
            for (rows,) in DataLoader(TensorDataset(table), batch_size=32, shuffle=True, drop_last=True):
                with torch.no_grad():
                    made = self.maker(torch.randn(len(rows), self.noise))
                distance = self.critic(made).mean() - self.critic(rows).mean()
                c = self.apply("critic", distance + 10 * self.penalty(self.critic, rows, made))
                m = self.apply("maker", -self.critic(self.maker(torch.randn(len(rows), self.noise))).mean())
            print(epoch, round(c, 3), round(m, 3))


if __name__ == "__main__":
    torch.manual_seed(0)
    latent = torch.randn(320, 2)
    RowGAN().fit(latent @ torch.randn(2, 5) + 0.1 * torch.randn(320, 5), epochs=3)
