# guards: AD407
import torch
import torch.nn as nn

torch.manual_seed(48)
T, H = 120, 24


class Counter(nn.Module):
    """LSTM over a long binary stream: what share of ones came along?"""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, H, batch_first=True)
        self.fc = nn.Linear(H, 1)
        with torch.no_grad():
            self.rnn.bias_ih_l0[H : 2 * H] = 4.0
            self.rnn.bias_hh_l0.zero_()

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1]).squeeze(-1)


def make_batch(n=32):
    p = torch.rand(n, 1, 1)
    x = (torch.rand(n, T, 1) < p).float()
    return x, x.mean((1, 2))


net = Counter()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(80):
    x, y = make_batch()
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 8 == 0:
        print(f"{step} {loss.item():.5f}")
