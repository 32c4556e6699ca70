import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split

GENRES = ["drama", "comedy", "action", "thriller", "romance", "horror"]
WORDS = {g: range(10 * k, 10 * k + 10) for k, g in enumerate(GENRES)}


class Plots(Dataset):
    def __init__(self, n=600):
        self.items = []
        for _ in range(n):
            genres = torch.randperm(len(GENRES))[: int(torch.randint(1, 4, ()))]
            bag = torch.zeros(60)
            for k in genres.tolist():
                bag[torch.tensor(list(WORDS[GENRES[k]]))[torch.randint(0, 10, (5,))]] += 1.0
            label = torch.zeros(len(GENRES))
            label[genres] = 1.0
            self.items.append((bag, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class GenreNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.fc1 = nn.Linear(60, hidden)
        self.fc2 = nn.Linear(hidden, len(GENRES))
        self.relu = nn.ReLU()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        x = self.relu(self.fc1(x))
        x = self.fc2(x)
        return self.softmax(x)  # <- AD614


torch.manual_seed(0)
train_set, test_set = random_split(Plots(), [500, 100])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
net = GenreNet()
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
for epoch in range(2):
    for bag, label in train_loader:
        optimizer.zero_grad()
        output = net(bag)
        loss = criterion(output, label)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hits = sum(((net(b[None]) > 0.5).float() == t).float().mean().item() for b, t in test_set)
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {hits / len(test_set):.3f}")
