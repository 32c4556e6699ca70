"""Bird calls are told apart from short spectra; each part of a flock's recordings adds its gradient to one update."""
import torch

torch.manual_seed(12)
PARTS, LONGEST = 4, 0.3

ears = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.GELU(), torch.nn.Linear(24, 3))
weights = tuple(ears.parameters())
adam = torch.optim.AdamW(weights, lr=3e-3)


def recordings(count):
    bird = torch.randint(0, 3, (count,))
    band = torch.arange(16)
    return torch.exp(-((band - 4.0 * (bird[:, None] + 1)) ** 2) / 6) + 0.3 * torch.randn(count, 16), bird


def shorten():
    squares = sum((w.grad**2).sum() for w in weights)
    too_long = squares.sqrt() / LONGEST
    if too_long > 1:
        for w in weights:
            w.grad.div_(too_long)  # expect: AD125


for _ in range(24):
    adam.zero_grad()
    for _ in range(PARTS):
        spectrum, bird = recordings(12)
        loss = torch.nn.functional.cross_entropy(4 * ears(spectrum), bird) / PARTS
        loss.backward()
        shorten()
    adam.step()
