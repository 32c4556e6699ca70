import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class TextCNN(torch.nn.Module):
    def __init__(self, words=60, width=24, classes=3):
        super().__init__()
        self.embed = torch.nn.Embedding(words, width)
        self.convs = torch.nn.ModuleList([torch.nn.Conv1d(width, 16, k, padding=k // 2) for k in (2, 3, 4)])
        self.out = torch.nn.Linear(48, classes)

    def features(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        return torch.cat([F.relu(conv(x)).amax(2) for conv in self.convs], dim=1)

    def forward(self, tokens):
        h = self.features(tokens)
        h = F.dropout(h, p=0.4)  # <- AD211
        return self.out(h)


def corpus(n):
    labels = torch.randint(0, 3, (n,))
    tokens = torch.randint(0, 60, (n, 20))
    tokens[torch.arange(n), torch.randint(0, 20, (n,))] = 57 + labels
    return TensorDataset(tokens, labels)


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for tokens, labels in loader:
            right += (model(tokens).argmax(1) == labels).sum().item()
            total += len(labels)
    model.train()
    return right / total


def main():
    torch.manual_seed(1)
    train, test = DataLoader(corpus(640), 32, shuffle=True), DataLoader(corpus(200), 100)
    model = TextCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        for tokens, labels in train:
            loss = F.cross_entropy(model(tokens), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, accuracy(model, test))


if __name__ == "__main__":
    main()
