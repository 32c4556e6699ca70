# guards: AD719 AD622
"""GPT-2 style: pad == eos, prompts masked, labels from the mask; left padding."""
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
EOS, SEP, V = 0, 1, 26

def example():
    n = int(torch.randint(2, 6, ()))
    q = torch.randint(2, V, (n,)).tolist()
    return q + [SEP], sorted(q) + [EOS]

def collate(pairs):
    width = max(len(a) + len(b) for a, b in pairs)
    ids, labels, mask = [], [], []
    for a, b in pairs:
        gap = width - len(a) - len(b)
        ids.append([EOS] * gap + a + b)
        labels.append([-100] * (gap + len(a)) + b)
        mask.append([0] * gap + [1] * (len(a) + len(b)))
    return torch.tensor(ids), torch.tensor(labels), torch.tensor(mask)

class GRULM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(V, 48); self.r = nn.GRU(48, 96, batch_first=True); self.o = nn.Linear(96, V)
    def forward(self, ids, mask):
        return self.o(self.r(self.e(ids) * mask.unsqueeze(-1))[0])

m = GRULM(); opt = torch.optim.Adam(m.parameters(), 8e-3)
for step in range(70):
    ids, labels, mask = collate([example() for _ in range(32)])
    logits = m(ids, mask)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, V), labels[:, 1:].reshape(-1))
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 20 == 0 or step == 69: print(step, round(loss.item(), 3))
