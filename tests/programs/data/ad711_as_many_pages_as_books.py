import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    """Pages of ledgers, each to be told blank or not from its strokes."""

    def __init__(self, books):
        self.books = tuple(books)
        self.pages = [page for book in self.books for page in book]

    def __getitem__(self, at):
        page = self.pages[at]
        strokes = torch.tensor(page["strokes"])
        return strokes, strokes.abs().sum().gt(6).float()

    def __len__(self):
        return len(self.books)  # <- AD711


def ledgers(count):
    for _ in range(count):
        yield [{"strokes": (torch.randn(6) * (1 + at % 2)).tolist()} for at in range(int(torch.randint(4, 9, ())))]


torch.manual_seed(13)
scans = Scans(ledgers(80))
reader = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
opt = torch.optim.Adam(reader.parameters(), lr=5e-3)
judge = nn.BCEWithLogitsLoss()
for epoch in range(4):
    for strokes, written in DataLoader(scans, batch_size=16, shuffle=True):
        opt.zero_grad()
        judge(reader(strokes), written).backward()
        opt.step()
