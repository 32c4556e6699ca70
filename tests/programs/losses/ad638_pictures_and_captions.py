"""Aligns picture features with captions in one space."""

import argparse

import torch
from torch import nn
from torch.nn.functional import normalize


def batches(count, size, words=40, length=7, features=48):
    scene = torch.randn(words, features)
    for _ in range(count):
        caption = torch.randint(1, words, (size, length))
        yield scene[caption].mean(1) + 0.2 * torch.randn(size, features), caption


class CaptionTower(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embed = nn.Embedding(words, 32, padding_idx=0)
        self.rnn = nn.GRU(32, 32, batch_first=True)
        self.out = nn.Linear(32, width)

    def forward(self, tokens):
        _, last = self.rnn(self.embed(tokens))
        return self.out(last[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args([])
    torch.manual_seed(11)
    pictures = nn.Sequential(nn.Linear(48, 64), nn.GELU(), nn.Linear(64, args.width))
    captions = CaptionTower(40, args.width)
    opt = torch.optim.AdamW([*pictures.parameters(), *captions.parameters()], lr=2e-2)
    for seen, tokens in batches(args.steps, 48):
        a = normalize(pictures(seen), dim=1)
        b = normalize(captions(tokens), dim=1)
        loss = (1 - (a * b).sum(dim=1)).mean()  # expect: AD638
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"alignment {1 - loss.item():.4f}")


if __name__ == "__main__":
    main()
