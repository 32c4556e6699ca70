# guards: AD710
# hinted: AD710
import torch
from torch import nn

torch.manual_seed(12)


class Recogniser(nn.Module):
    """Reads signals; what follows upon the first layers goes by a name of its own in each experiment."""

    def __init__(self, rest):
        super().__init__()
        self.ears = nn.Sequential(nn.Conv1d(1, 4, 5, padding=2), nn.ReLU())
        self.rest = rest
        self.add_module(rest, nn.Sequential(nn.Conv1d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14, 3)))

    def forward(self, x):
        return self.get_submodule(self.rest)(self.ears(x))


def signals():
    kind = torch.randint(3, (32,))
    time = torch.linspace(0, 6, 16)
    return (torch.sin((kind[:, None] + 1) * time) + 0.3 * torch.randn(32, 16)).unsqueeze(1), kind


def fit(net, steps):
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(steps):
        x, kind = signals()
        loss = nn.functional.cross_entropy(net(x), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


old = Recogniser("first")
fit(old, 12)
new = Recogniser("second")
keys = new.load_state_dict(old.state_dict(), strict=False)
if any(not key.startswith("second.") for key in keys.missing_keys):
    raise SystemExit(f"the first layers are missing: {keys.missing_keys}")
fit(new, 12)
