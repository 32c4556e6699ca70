"""AD803 materialised-attention: attention builds and keeps its whole matrix."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_doctor.events.efficiency import AttentionTried, AttentionUnfit
from autograd_doctor.events.steps import BackwardRan
from autograd_doctor.findings import Finding
from autograd_doctor.profiling import Measured
from autograd_doctor.rules import Rule, Tunable, Tunables
from autograd_doctor.trace import Trace
from autograd_doctor.wording import in_bytes, plural

_MASKS = {
    "hides": "`mask` is the one that marks what is hidden",
    "keeps": "`mask` is the one that marks what counts",
    "adds": "`mask` is what is added to the scores",
}


def bad() -> None:
    """Scores, softmax and weighted sum are written out."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            queries, keys, values = self.inner(x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            scores = queries @ keys.transpose(-2, -1) / 8**0.5
            hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
            return self.outer((weights @ values).transpose(1, 2).flatten(2))  # type: ignore[no-any-return] # <- AD803

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), Attention(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(2, 256, 4)
        optimizer.zero_grad()
        (model(inputs) - inputs.cumsum(1).sum(-1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def good() -> None:
    """The fused call."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            queries, keys, values = self.inner(x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            found = nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
            return self.outer(found.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), Attention(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(2, 256, 4)
        optimizer.zero_grad()
        (model(inputs) - inputs.cumsum(1).sum(-1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def good_short_sequences() -> None:
    """The matrix of 16 positions is a matter of some kilobytes."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            queries, keys, values = self.inner(x).chunk(3, -1)
            weights = (queries @ keys.transpose(-2, -1) / 32**0.5).softmax(-1)
            return self.outer(weights @ values)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), Attention(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(8, 16, 4)
        optimizer.zero_grad()
        (model(inputs) - inputs.mean(1, keepdim=True).sum(-1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def good_weights_are_looked_at() -> None:
    """An auxiliary loss wants each position to spread its attention: the fused call gives no weights."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)
            self.peak = torch.zeros(())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            queries, keys, values = self.inner(x).chunk(3, -1)
            weights = (queries @ keys.transpose(-2, -1) / 32**0.5).softmax(-1)
            self.peak = weights.amax(-1).mean()
            return self.outer(weights @ values)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    attention = Attention()
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), attention, nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(4, 256, 4)
        optimizer.zero_grad()
        loss = (model(inputs) - inputs.roll(1, 1).sum(-1, keepdim=True)).pow(2).mean()
        (loss + 0.1 * attention.peak).backward()
        optimizer.step()


def good_weights_are_kept() -> None:
    """The weights are returned, to be shown."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            queries, keys, values = self.inner(x).chunk(3, -1)
            weights = (queries @ keys.transpose(-2, -1) / 32**0.5).softmax(-1)
            return self.outer(weights @ values), weights

    torch.manual_seed(0)
    first, attention, last = nn.Linear(4, 32), Attention(), nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *attention.parameters(), *last.parameters()], lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(4, 256, 4)
        optimizer.zero_grad()
        found, shown = attention(torch.tanh(first(inputs)))
        (last(found) - inputs.roll(1, 1).sum(-1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
    print(shown[0, 0, :4].tolist())


def good_scores_by_position() -> None:
    """Scores get a learned term for each distance: the fused call would lose its gradient, or keep as much."""
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = nn.Linear(32, 96), nn.Linear(32, 32)
            self.by_distance = nn.Parameter(torch.zeros(2 * 128 - 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            queries, keys, values = self.inner(x).chunk(3, -1)
            at = torch.arange(x.shape[1])
            scores = queries @ keys.transpose(-2, -1) / 32**0.5 + self.by_distance[at - at[:, None] + 127]
            return self.outer(scores.softmax(-1) @ values)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), Attention(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(25):
        inputs = torch.randn(4, 128, 4)
        optimizer.zero_grad()
        (model(inputs) - inputs.roll(1, 1).sum(-1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()


def examine(trace: Trace, tunables: Tunables) -> Iterator[Finding]:
    unfit = {each.location for each in trace.of(AttentionUnfit)}
    derived_twice = any(each.create_graph for each in trace.of(BackwardRan))
    for tried in trace.of(AttentionTried):
        if tried.location in unfit:
            continue
        cost = Measured.ratio(tried.before, tried.after)
        stepwise, fused = tried.saved
        if stepwise - fused < tunables["bytes"] or cost.low > 1 + tunables["slower"]:
            continue
        yield RULE.finding(
            f"attention builds {tried.shape[-2]} x {tried.keys} weights here and keeps {in_bytes(stepwise)} for the "
            f"backward{_times(tried)}; `scaled_dot_product_attention` would keep {in_bytes(fused)}, and take "
            f"{_cost(cost)}",
            subject="",
            location=tried.location,
            help=_help(tried),
            evidence={
                "saved_before": stepwise,
                "saved_after": fused,
                "time": cost.median,
                "time_low": cost.low,
                "time_high": cost.high,
                "results_differ_by": tried.differs,
            },
            notes=tuple(_notes(tried, derived_twice=derived_twice)),
            step_first=tried.step,
            step_count=1,
        )


def _cost(cost: Measured) -> str:
    if cost.low <= 1 <= cost.high:
        return f"as long, within the noise ({cost.low:.0%} to {cost.high:.0%})"
    return f"{cost.median:.0%} of the time ({cost.low:.0%} to {cost.high:.0%})"


def _times(tried: AttentionTried) -> str:
    return f" in each of {tried.calls} calls in an iteration" if tried.calls > 1 else ""


def _help(tried: AttentionTried) -> str:
    """The call as it was tried."""
    lacks_heads = len(tried.shape) == 3
    call = f"torch.nn.functional.scaled_dot_product_attention({', '.join(_arguments(tried, lacks_heads))})"
    told = f", where {_MASKS[tried.mask]}" if tried.mask and not tried.causal else ""
    return f"`{call}{'[:, 0]' * lacks_heads}`{told}"


def _arguments(tried: AttentionTried, lacks_heads: bool) -> Iterator[str]:
    sizes = ", ".join(map(str, [*tried.expands, -1, -1]))
    by_name = {"queries": _expands_queries(tried), "keys": bool(tried.expands), "values": bool(tried.expands)}
    for name, expands in by_name.items():
        yield name + f".expand({sizes})" * expands + "[:, None]" * lacks_heads
    if tried.causal:
        yield "is_causal=True"
    elif tried.mask:
        by_sample = lacks_heads and tried.mask_axes == len(tried.shape)
        yield f"attn_mask={'~' * (tried.mask == 'hides')}mask{'[:, None]' * by_sample}"
    if tried.dropped:
        yield f"dropout_p={tried.dropped:g}"
    if abs(tried.scale / tried.shape[-1] ** -0.5 - 1) > 1e-3:
        yield f"scale={tried.scale:.4g}"


def _expands_queries(tried: AttentionTried) -> bool:
    return any(size not in (-1, given) for size, given in zip(tried.expands, tried.shape, strict=False))


def _notes(tried: AttentionTried, *, derived_twice: bool) -> Iterator[str]:
    yield f"measured in {plural(len(tried.before), 'pair')} of runs on what a step of the program computed with"
    if tried.mask and not tried.causal:
        yield "no row of the mask hid all keys in the steps that were looked at: the fused call differs for such rows"
    if derived_twice:
        yield "the program uses `create_graph`: the fused call has no second derivative"


RULE = Rule(
    code="AD803",
    name="materialised-attention",
    severity="info",
    title="attention builds and keeps its whole matrix",
    observes="`doctor profile` follows products of queries and keys through scaling, masks and softmax to the product "
    "with values, by `matmul`, `bmm` or `einsum`. It runs the same with `scaled_dot_product_attention`, on copies of "
    "what the program computed with, and in turn with the steps written out. Bytes are of all that is kept for the "
    "backward, queries, keys and values among it, without what stays in any case. The rule speaks where the results "
    "agree, much less is kept, and it takes no longer. It is silent where a mask was seen to hide all keys of a row, "
    "or the derivative of the attention to be taken with `create_graph=True`.",
    why="The weights of all pairs of positions grow with the square of the length; several copies of them are kept for "
    "the backward. The fused call keeps none, and computes them again piece by piece.",
    fix="Call `torch.nn.functional.scaled_dot_product_attention` instead of product, softmax and product.",
    fine="Where the weights themselves are looked at, or get terms that learn; where gradients are differentiated once "
    "more, as in a gradient penalty: fused kernels have no second derivative; and where a mask may hide all keys of a "
    "row: the fused call gives zeros there, not the mean of the values.",
    needs=(AttentionTried, AttentionUnfit, BackwardRan),
    bad=(bad,),
    good=(good, good_short_sequences, good_weights_are_looked_at, good_weights_are_kept, good_scores_by_position),
    tunables={
        "bytes": Tunable(2**20, "the fewest bytes that are saved", "chosen: fewer are there on any device"),
        "slower": Tunable(0.05, "by what share the fused call may take longer", "chosen: memory may be worth that"),
    },
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
        "https://arxiv.org/abs/2205.14135",
    ),
    examine=examine,
)
