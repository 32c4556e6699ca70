import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Phrases(Dataset):
    def __init__(self, count, seed):
        draw = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(count):
            ids = torch.randint(1, 30, (int(torch.randint(3, 16, (1,), generator=draw)),), generator=draw)
            self.items.append({"ids": ids, "mood": float(ids.float().mean() > 15), "key": len(self.items)})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Batcher:
    def __init__(self, device="cpu"):
        self.device = device

    def __call__(self, items):  # <- AD708
        ids = sorted([item["ids"] for item in items], key=lambda each: -len(each))
        return {
            "ids": pad_sequence(ids).to(self.device),
            "lengths": [len(each) for each in ids],
            "mood": torch.tensor([item["mood"] for item in items], device=self.device),
        }


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.out = nn.Embedding(30, 12, padding_idx=0), nn.LSTM(12, 20), nn.Linear(20, 1)

    def forward(self, ids, lengths):
        _, (last, _) = self.lstm(pack_padded_sequence(self.words(ids), lengths))
        return self.out(last[-1]).squeeze(1)


def main():
    torch.manual_seed(1)
    loader = DataLoader(Phrases(480, 5), batch_size=24, shuffle=True, collate_fn=Batcher())
    reader, loss_of = Reader(), nn.BCEWithLogitsLoss()
    rule = torch.optim.Adam(reader.parameters(), lr=5e-3)
    for batch in loader:
        loss = loss_of(reader(batch["ids"], batch["lengths"]), batch["mood"])
        rule.zero_grad()
        loss.backward()
        rule.step()
    print(loss.item())


main()
