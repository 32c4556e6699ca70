"""House prices from a table in lists of Python numbers, which a data set returns row by row."""
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader


class Table:
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        area, rooms, price = self.rows[index]
        return area, rooms, price


def main():
    torch.manual_seed(0)
    areas = torch.rand(200)
    rows = [(float(a), float(a * 5 // 1), float(3 * a + 0.5)) for a in areas]
    weight = torch.zeros(2, 1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for area, rooms, price in DataLoader(Table(rows), batch_size=20):
        features = torch.stack([area, rooms], dim=1)
        prediction = features @ weight  # expect: AD512
        loss = F.mse_loss(prediction[:, 0], price)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
