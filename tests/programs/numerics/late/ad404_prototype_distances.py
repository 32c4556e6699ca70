# prototype classifier, features stored as float16 on CPU
import torch
import torch.nn as nn

torch.manual_seed(34)
C, D = 6, 64
means = torch.randn(C, D) * 20
table = []
for k in range(3000):
    c = k % C
    table.append((c, means[c] + 5 * torch.randn(D)))
table[2500] = (table[2500][0], table[2500][1] * 12)
feats = torch.stack([f for _, f in table]).half()
lab = torch.tensor([c for c, _ in table])


class Proto(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.randn(C, D) * 5)
        self.log_t = nn.Parameter(torch.tensor(-7.0))

    def forward(self, f):
        diff = f[:, None, :] - self.p.half()[None]
        d2 = diff.pow(2).sum(-1)  # expect: AD404
        return -d2.float() * self.log_t.exp()


model = Proto()
opt = torch.optim.Adam(model.parameters(), lr=0.1)
for i in range(100):
    xb, yb = feats[i * 30 : (i + 1) * 30], lab[i * 30 : (i + 1) * 30]
    logits = model(xb)
    loss = nn.functional.cross_entropy(logits, yb)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, f"loss {loss.item():.4f} t {model.log_t.exp().item():.5f}")
