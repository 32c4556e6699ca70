# guards: AD636 AD622
"""The score of the last position is masked where there is only padding."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence

torch.manual_seed(0)
class Cand(nn.Module):
    """Slate of candidates, 0 is an empty slot. Logits of empty slots are -inf."""
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(60, 16, padding_idx=0)
        self.user = nn.Embedding(20, 16)
        self.mlp = nn.Linear(16, 16)
    def forward(self, users, slate):
        e = self.mlp(self.embed(slate))
        u = self.user(users)
        columns = [(e[:, k] * u).sum(1).masked_fill(slate[:, k] == 0, -1e9) for k in range(slate.shape[1] - 1)]
        columns.append((e[:, -1] * u).sum(1).masked_fill(slate[:, -1] == 0, -1e9))
        return torch.stack(columns, 1)

model = Cand()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(30):
    slate = pad_sequence([torch.randperm(59)[:int(n)] + 1 for n in torch.randint(3, 9, (32,))], batch_first=True)
    users = torch.randint(0, 20, (32,))
    loss = F.cross_entropy(model(users, slate), torch.zeros(32, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
