# guards: AD214
"""MoCo with batch-norm in both encoders; the key encoder begins as a copy and follows, in training mode."""
import torch
import torch.nn.functional as F
from torch import nn


def encoder(dim):
    return nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, dim))


class MoCo(nn.Module):
    def __init__(self, dim=16, queue=128, momentum=0.98, temperature=0.2):
        super().__init__()
        self.m, self.t = momentum, temperature
        self.encoder_q, self.encoder_k = encoder(dim), encoder(dim)
        self.encoder_k.load_state_dict(self.encoder_q.state_dict())
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, queue), dim=0))
        self.pointer = 0

    @torch.no_grad()
    def keys(self, images):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data.mul_(self.m).add_(q.data, alpha=1.0 - self.m)
        shuffle = torch.randperm(images.size(0))
        return F.normalize(self.encoder_k(images[shuffle])[shuffle.argsort()], dim=1)


def main():
    torch.manual_seed(0)
    model = MoCo()
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.1, momentum=0.9)
    for step in range(30):
        x = torch.randn(32, 12)
        q = F.normalize(model.encoder_q(x + 0.1 * torch.randn_like(x)), dim=1)
        k = model.keys(x + 0.1 * torch.randn_like(x))
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ model.queue.clone()], dim=1) / model.t
        loss = F.cross_entropy(logits, torch.zeros(32, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.queue[:, model.pointer : model.pointer + 32] = k.T
        model.pointer = (model.pointer + 32) % model.queue.size(1)
        if step % 10 == 0:
            print(step, loss.item())


if __name__ == "__main__":
    main()
