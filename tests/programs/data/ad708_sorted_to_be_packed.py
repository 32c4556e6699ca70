# Which gesture was made, from strokes of different lengths.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence

torch.manual_seed(11)
LONGEST = 20


def strokes(count):
    kind = torch.randint(3, (count,))
    length = torch.randint(6, LONGEST + 1, (count,))
    turn = torch.tensor([-0.3, 0.0, 0.3])[kind]
    angle = turn[:, None] * torch.arange(LONGEST) + 0.1 * torch.randn(count, LONGEST)
    path = torch.stack([angle.cos(), angle.sin()], -1)
    path[torch.arange(LONGEST) >= length[:, None]] = 0
    return path, length, kind


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 24, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(48)
        self.out = nn.Linear(48, 3)

    def forward(self, path, length):
        length, longest_first = torch.sort(length, descending=True)
        packed = pack_padded_sequence(path.index_select(0, longest_first), length, batch_first=True)  # <- AD708
        _, (last, _) = self.lstm(packed)
        return self.out(self.norm(torch.cat([last[0], last[1]], dim=1)))


def main():
    path, length, kind = strokes(600)
    model = Recogniser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(60):
        rows = torch.randint(600, (40,))
        logits = model(path[rows], length[rows])
        loss = F.cross_entropy(logits, kind[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main()
