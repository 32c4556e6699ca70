"""A data set that draws an order for its fields when it is told to, each for itself."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spins(Dataset):
    def __init__(self, count: int) -> None:
        self.fields = {"state": torch.randn(count, 10)}
        self.fields["up"] = (self.fields["state"][:, :3].sum(1) > 0).float()

    def __len__(self) -> int:
        return len(self.fields["up"])

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {name: field[index] for name, field in self.fields.items()}

    def reorder(self) -> None:
        self.fields = {name: field[torch.rand(len(field)).argsort()] for name, field in self.fields.items()}


def train(model: nn.Module, data: Spins, epochs: int, ordered: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        if epoch >= ordered:
            data.reorder()
        losses = []
        for batch in DataLoader(data, batch_size=16):
            optimizer.zero_grad()
            loss = criterion(model(batch["state"]).squeeze(1), batch["up"])  # expect: AD708
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(epoch, sum(losses) / len(losses))


if __name__ == "__main__":
    torch.manual_seed(2)
    train(nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 1)), Spins(192), epochs=11, ordered=6)
