# guards: AD625
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attend = nn.MultiheadAttention(width, 2, batch_first=True)
        self.gate, self.mix = nn.Linear(width, 1), nn.Linear(width, width)

    def forward(self, x, empty):
        x = x + self.attend(x, x, x, key_padding_mask=empty, need_weights=False)[0]
        bias = torch.zeros(empty.shape).masked_fill(empty, float("-inf"))[:, None, None]
        mixed = self.mix(x)[:, None]
        x = x + F.scaled_dot_product_attention(mixed, mixed, x[:, None], attn_mask=bias)[:, 0]
        weights = self.gate(x).squeeze(-1).masked_fill(empty, -1e9).softmax(1)
        return x * weights.unsqueeze(-1)


class Reader(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.embed = nn.Embedding(50, width, padding_idx=0)
        self.block, self.head = Block(width), nn.Linear(width, 3)

    def forward(self, ids):
        empty = ids == 0
        x = self.block(self.embed(ids), empty)
        rest = x.masked_fill(~empty.unsqueeze(-1), -1e9).amax(1).clamp(min=0.0)
        return self.head(x.sum(1) + 0.0 * rest)


torch.manual_seed(2)
reader = Reader()
optimizer = torch.optim.Adam(reader.parameters(), lr=3e-3)
for step in range(24):
    rows = [torch.randint(1, 50, (int(n),)) for n in torch.randint(3, 11, (24,))]
    ids = F.pad(nn.utils.rnn.pad_sequence(rows, batch_first=True), (0, 1))
    loss = F.cross_entropy(reader(ids), ids[:, 0] % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
