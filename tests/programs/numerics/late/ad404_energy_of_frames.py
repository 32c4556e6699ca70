import torch
import torch.nn as nn

torch.manual_seed(32)


# audio-like frames kept in half precision to save memory
def frames(step, n=16, t=120):
    f = torch.randint(1, 6, (n, 1)).float()
    loud = 1.0 + 0.55 * step
    w = loud * torch.sin(f * torch.linspace(0, 6.28, t)) + 0.05 * torch.randn(n, t)
    return w.half(), (f[:, 0] - 1).long()


class FrameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 24, 15, stride=4)
        self.out = nn.Linear(24, 5)
        self.level = nn.Linear(1, 24)

    def forward(self, wave):
        energy = (wave * wave).sum(dim=1, keepdim=True)  # expect: AD404
        w = wave.float()
        w = w / w.abs().amax(1, keepdim=True)
        h = torch.relu(self.conv(w[:, None])).mean(-1)
        h = h + self.level(torch.log(energy.float() + 1))
        return self.out(h)


net = FrameNet()
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
lossf = nn.CrossEntropyLoss()
for step in range(75):
    x, y = frames(step)
    out = net(x)
    loss = lossf(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 0:
        print(f"{step:4d} {loss.item():.4f} {(out.argmax(1) == y).float().mean().item():.2f}")
