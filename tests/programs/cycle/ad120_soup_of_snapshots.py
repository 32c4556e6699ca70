import torch
from torch import nn, optim


class Tabular(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.norm = nn.BatchNorm1d(columns)
        self.hidden = nn.Sequential(nn.Linear(columns, 24), nn.BatchNorm1d(24), nn.GELU())
        self.out = nn.Linear(24, 1)

    def forward(self, rows):
        return self.out(self.hidden(self.norm(rows))).squeeze(-1)


def cycle(model, optimizer, rows, wanted, rates):
    model.train()
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        pick = torch.randint(0, len(rows), (64,))
        loss = nn.functional.huber_loss(model(rows[pick]), wanted[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(5)
    rows = 10 + 4 * torch.randn(500, 7)
    wanted = (rows[:, 0] - rows[:, 1]) / 4
    model = Tabular(7)
    soup = optim.swa_utils.AveragedModel(model)
    optimizer = optim.Adam(model.parameters())
    for number in range(4):
        last = cycle(model, optimizer, rows[:400], wanted[:400], [1e-2, 8e-3, 5e-3, 3e-3, 1e-3])
        soup.update_parameters(model)
        print("cycle", number, round(last, 4))
    with torch.inference_mode():
        error = nn.functional.l1_loss(soup.eval()(rows[400:]), wanted[400:])  # <- AD120
    print("soup", round(error.item(), 4))


if __name__ == "__main__":
    main()
