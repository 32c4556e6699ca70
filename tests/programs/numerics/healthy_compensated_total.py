# guards: AD415
"""Continue a small character model up to a compute budget.

The meter lives on the accelerator, which has no float64, and comes from the checkpoint with what earlier runs spent.
Sums there are compensated (Kahan): what a total cannot take up yet waits in the carry.
"""

import math

import torch
from torch import nn


class Compensated:
    def __init__(self, start: float = 0.0):
        self.total = torch.tensor(start, dtype=torch.float32)
        self.carry = torch.zeros((), dtype=torch.float32)

    def add(self, amount: torch.Tensor) -> None:
        amount = amount - self.carry
        total = self.total + amount
        self.carry = (total - self.total) - amount
        self.total = total

    def since(self, start: "torch.Tensor") -> float:
        return ((self.total - start) - self.carry).item()


class CharGRU(nn.Module):
    def __init__(self, symbols: int, width: int = 48):
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, symbols)

    def forward(self, tokens):
        return self.out(self.gru(self.embed(tokens))[0])

    def flops(self, tokens: int) -> float:
        dense = sum(p.numel() for name, p in self.named_parameters() if not name.startswith("embed"))
        return 6.0 * dense * tokens


def text(length: int, symbols: int, generator: torch.Generator) -> torch.Tensor:
    """A second-order Markov source."""
    table = torch.softmax(3 * torch.randn(symbols, symbols, symbols, generator=torch.Generator().manual_seed(5)), -1)
    out = [0, 1]
    draws = torch.rand(length, generator=generator)
    cumulative = table.cumsum(-1)
    for u in draws:
        out.append(min(int(torch.searchsorted(cumulative[out[-2], out[-1]], u)), symbols - 1))
    return torch.tensor(out)


def batch(corpus: torch.Tensor, size: int, length: int):
    start = torch.randint(len(corpus) - length - 1, (size, 1))
    rows = start + torch.arange(length + 1)
    return corpus[rows][:, :-1], corpus[rows][:, 1:]


def main() -> None:
    torch.manual_seed(0)
    symbols, size, length = 12, 16, 24
    generator = torch.Generator().manual_seed(1)
    train, held_out = text(12_000, symbols, generator), text(3_000, symbols, generator)
    model = CharGRU(symbols)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)

    meter = Compensated(3.2e16)  # from the checkpoint
    begin = meter.total.clone()
    per_step = torch.tensor(model.flops(size * length))
    budget = 300 * per_step.item()
    step, checked = 0, batch(held_out, 128, length)
    while (spent := meter.since(begin)) < budget:
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * 0.5 * (1 + math.cos(math.pi * spent / budget))
        tokens, following = batch(train, size, length)
        loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        meter.add(per_step)
        step += 1
        if step % 75 == 0:
            with torch.no_grad():
                tokens, following = checked
                bits = nn.functional.cross_entropy(model(tokens).flatten(0, 1), following.flatten()).item() / math.log(
                    2
                )
            print(
                f"step {step:4d}  spent {meter.since(begin):.3e} of {budget:.3e}  held-out bits per symbol {bits:.3f}"
            )


main()
