# guards: AD406 AD410
"""Language model whose loss is summed over tokens."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(78)
V, T = 30, 20
table = torch.softmax(2.5 * torch.randn(V, V), -1)


def sample(n=32):
    s = [torch.randint(0, V, (n,))]
    for _ in range(T):
        s.append(torch.multinomial(table[s[-1]], 1).squeeze(1))
    return torch.stack(s, 1)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(V + 70, 24)  # 70 rows reserved for later vocabulary
        self.g = nn.GRU(24, 48, batch_first=True)
        self.o = nn.Linear(48, V)

    def forward(self, x):
        return self.o(self.g(self.e(x))[0])


lm = LM()
opt = torch.optim.SGD(lm.parameters(), lr=2e-3, momentum=0.9)
for step in range(48):
    s = sample()
    logits = lm(s[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, V), s[:, 1:].reshape(-1), reduction="sum")
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(lm.parameters(), 100.0)
    opt.step()
    if step % 12 == 0:
        print(step, f"sum {loss.item():.1f} per token {loss.item() / (32 * T):.3f}")
