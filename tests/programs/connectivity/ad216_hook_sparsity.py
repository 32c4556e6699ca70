"""Sparse autoencoder: the L1 penalty is taken on activations a forward hook has stored detached (AD216)."""
import torch
from torch import nn
from torch.nn import functional as F


class SparseAE(nn.Module):
    def __init__(self, d_in=20, d_hidden=64):
        super().__init__()
        self.enc = nn.Linear(d_in, d_hidden)
        self.act = nn.ReLU()
        self.dec = nn.Linear(d_hidden, d_in)

    def forward(self, x):
        return self.dec(self.act(self.enc(x)))


class ActivationStore:
    def __init__(self, module, *names):
        self.values = {}
        self.handles = [module.get_submodule(n).register_forward_hook(self._save(n)) for n in names]

    def _save(self, name):
        def hook(mod, inputs, output):
            self.values[name] = output.detach()
        return hook

    def close(self):
        for h in self.handles:
            h.remove()


def train(model, data, steps=40, beta=0.02, batch_size=64):
    store = ActivationStore(model, "act")
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    for step in range(steps):
        idx = torch.randint(0, len(data), (batch_size,))
        x = data[idx]
        loss = F.mse_loss(model(x), x)
        loss += beta * store.values["act"].abs().mean()  # expect: AD216
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    store.close()
    return history


if __name__ == "__main__":
    torch.manual_seed(0)
    mixing = torch.randn(6, 20)
    data = torch.randn(1024, 6).clamp(min=0) @ mixing
    hist = train(SparseAE(), data)
    print("first", round(hist[0], 4), "last", round(hist[-1], 4))
