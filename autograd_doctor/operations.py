"""The operations of torch by what they do to values, and its loss functions by what they expect.

Names are those that torch calls them by, each spelling among them (`reading.spelling` tells which is which); on a tape,
operations have their canonical names. Source: the pages of `torch` and `torch.nn.functional`. A test holds the losses
to what the functions do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

JOINS = frozenset({"stack", "cat", "concat", "concatenate", "hstack", "vstack"})
"""Operations that put terms one beside the other, for a sum to come."""
CONCATENATIONS = JOINS - {"stack"}
"""Those that put them one after the other, in a dimension which they have."""
ADDITIONS = frozenset({"add", "__radd__", "add_", "__iadd__"})
DIFFERENCES = frozenset({"sub", "subtract", "__rsub__", "rsub", "sub_", "__isub__"})
ADDING = ADDITIONS | DIFFERENCES
TOTALS = frozenset({"mean", "sum"})
"""What makes one number of several, each of which counts the same."""
SUMS = ADDING | JOINS
NEGATIONS = frozenset({"__neg__", "neg", "neg_", "negative", "negative_"})
MULTIPLICATIONS = frozenset({"__imul__", "__rmul__", "mul", "mul_", "multiply"})
DIVISIONS = frozenset({"__itruediv__", "div", "div_", "divide", "true_divide"})
SCALING = MULTIPLICATIONS | DIVISIONS
ARITHMETIC = ADDING | SCALING
PRODUCTS = SCALING | {"__matmul__", "dot", "inner", "matmul", "mv"}
"""Linear as long as all factors but one are plain data."""
EQUALITIES = frozenset({"__eq__", "__ne__", "eq", "ne", "not_equal"})
ORDERINGS = frozenset({"__ge__", "__gt__", "__le__", "__lt__", "ge", "gt", "le", "lt"})
COMPARISONS = EQUALITIES | ORDERINGS
CONSTANTS = frozenset(
    {"full", "full_like", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "zeros", "zeros_like"}
)
"""Operations that fill a tensor with one number."""
TAKES = frozenset({"__getitem__", "index_select"})
"""Operations that take rows by their numbers."""
PICKS = frozenset({"__getitem__", "gather", "take_along_dim"})
"""Operations by which one value is picked from each row, as the score of a class."""
GATHERS = PICKS - {"__getitem__"}
"""Those that do nothing else."""
LOOK_UPS = TAKES | PICKS
MASKED = frozenset({"__getitem__", "masked_select"})
"""Operations by which a mask chooses values."""
VIEWS = frozenset({"flatten", "permute", "reshape", "squeeze", "transpose", "unsqueeze", "view"})
"""The most usual of those that give values another shape."""
RESHAPES = frozenset({"flatten", "reshape", "reshape_as", "unflatten", "view", "view_as"})
"""Those that keep the order of the values."""
UPLOADS = frozenset({"as_tensor", "cuda", "to", "xpu"})
"""Operations by which programs bring tensors to an accelerator."""
REARRANGEMENTS = frozenset({
    "T", "__getitem__", "bfloat16", "broadcast_tensors", "broadcast_to", "chunk", "clone", "contiguous", "cpu", "cuda",
    "double", "expand", "expand_as", "flatten", "flip", "float", "gather", "half", "index_select", "mT",
    "masked_select", "mean", "movedim", "nanmean", "nansum", "narrow", "neg", "neg_", "negative", "permute", "positive",
    "ravel", "repeat", "repeat_interleave", "reshape", "reshape_as", "roll", "select", "split", "squeeze", "sum",
    "swapaxes", "t", "take_along_dim", "to", "transpose", "type", "type_as", "unbind", "unflatten", "unsqueeze", "view",
    "view_as",
})  # fmt: skip
"""Operations that only choose and move what is in one tensor, or sum it up."""
MOVES = (REARRANGEMENTS | {"alias", "detach", "int", "long", "requires_grad_", "squeeze_", "unsqueeze_"}) - {
    "mean", "nanmean", "nansum", "neg", "neg_", "negative", "sum",
}  # fmt: skip
"""Operations the results of which hold values of their first argument, and no others."""
FOLLOWS = frozenset({"add_", "copy_", "lerp_"})
"""Operations with which weights follow those of others, step by step."""
CONVOLUTIONS = {
    f"conv{transposed}{dimensions}d": dimensions for transposed in ("", "_transpose") for dimensions in (1, 2, 3)
}
"""With their number of spatial dimensions."""
RECURRENT = frozenset({"gru", "lstm", "rnn_relu", "rnn_tanh"})
STATES = frozenset({"gru", "gru_cell", "lstm", "lstm_cell", "rnn_tanh", "rnn_tanh_cell"})
"""Recurrent layers whose hidden states are tanh, or averages of it."""
STEPS = frozenset({"ceil", "floor", "round", "sgn", "sign", "trunc"})
"""Operations whose derivative is zero, and whose values a quantiser, or a binary code, wants."""
NORMS = frozenset({"linalg_norm", "linalg_vector_norm", "norm"})
SIGMOIDS = frozenset({"sigmoid", "hardsigmoid"})
SOFTMAXES = frozenset({"softmax", "gumbel_softmax", "softmin"})
DROPOUTS = frozenset({
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "dropout_", "feature_alpha_dropout",
    "feature_dropout",
})  # fmt: skip


class Draw(NamedTuple):
    """What an operation draws at random. as_told: as one of its arguments says, which it gives no gradient."""

    what: Literal["normal", "uniform", "numbers", "order", "choice", "marks", "counts"]
    as_told: bool = False


DRAWS = {
    "bernoulli": Draw("marks", as_told=True),
    "bernoulli_": Draw("marks", as_told=True),
    "binomial": Draw("counts", as_told=True),
    "multinomial": Draw("choice", as_told=True),
    "normal": Draw("normal", as_told=True),
    "normal_": Draw("normal"),
    "poisson": Draw("counts", as_told=True),
    "rand": Draw("uniform"),
    "rand_like": Draw("uniform"),
    "randint": Draw("numbers"),
    "randn": Draw("normal"),
    "randn_like": Draw("normal"),
    "randperm": Draw("order"),
    "uniform_": Draw("uniform"),
}


def _draws(*what: str) -> frozenset[str]:
    return frozenset(name for name, draw in DRAWS.items() if draw.what in what)


DRAWN_AS_TOLD = frozenset(name for name, draw in DRAWS.items() if draw.as_told)
NORMAL_NOISE = _draws("normal")
NOISE = _draws("normal", "uniform", "numbers")
INDEX_DRAWS = _draws("numbers", "order", "choice")
"""Those by which rows are chosen."""
IGNORED = -100
"""The target that losses over classes ignore if they are told of none."""

Expects = Literal["scores", "log-probabilities", "probabilities", "values"]


class Loss(NamedTuple):
    """What a loss expects of its prediction, and what may be said of the result.

    over_classes: the target may be the number of a class. by_element: there is a result for each value.
    never_negative: the result is none, given targets such as it expects. compares: prediction and target are looked at.
    """

    expects: Expects
    over_classes: bool = False
    by_element: bool = False
    never_negative: bool = True
    compares: bool = True


CATALOGUE = {
    "binary_cross_entropy": Loss("probabilities", by_element=True),
    "binary_cross_entropy_with_logits": Loss("scores", by_element=True),
    "cosine_embedding_loss": Loss("values", compares=False),
    "cross_entropy": Loss("scores", over_classes=True),
    "ctc_loss": Loss("log-probabilities"),
    "gaussian_nll_loss": Loss("values", by_element=True, never_negative=False),
    "hinge_embedding_loss": Loss("values", by_element=True, never_negative=False, compares=False),
    "huber_loss": Loss("values", by_element=True),
    "kl_div": Loss("log-probabilities", by_element=True, never_negative=False),
    "l1_loss": Loss("values", by_element=True),
    "margin_ranking_loss": Loss("values", by_element=True, compares=False),
    "mse_loss": Loss("values", by_element=True),
    "multi_margin_loss": Loss("scores", compares=False),
    "multilabel_margin_loss": Loss("scores", compares=False),
    "multilabel_soft_margin_loss": Loss("scores"),
    "nll_loss": Loss("log-probabilities", over_classes=True, never_negative=False),
    "poisson_nll_loss": Loss("values", by_element=True, never_negative=False),
    "smooth_l1_loss": Loss("values", by_element=True),
    "soft_margin_loss": Loss("scores", by_element=True, compares=False),
    "triplet_margin_loss": Loss("values", compares=False),
}


def reduction(options: Mapping[str, object]) -> str:
    """How a loss that was called with these keywords reduces its elements: "mean", "sum" or "none".

    `size_average` and `reduce` are older words for it, and still win (`torch.nn._reduction.legacy_get_string`).
    """
    average, reduces = options.get("size_average"), options.get("reduce")
    if average is None and reduces is None:
        return str(options.get("reduction", "mean"))
    if reduces is False:
        return "none"
    return "sum" if average is False else "mean"


def _where(**facts: object) -> frozenset[str]:
    return frozenset(
        name for name, loss in CATALOGUE.items() if all(getattr(loss, fact) == value for fact, value in facts.items())
    )


CLASSES = _where(over_classes=True)
BY_ELEMENT = _where(by_element=True)
REGRESSION = _where(expects="values", by_element=True, never_negative=True, compares=True)
BY_DIFFERENCE = REGRESSION | {"sub"}
"""Those that compare two values element by element, as the tape names them."""
DISTANCES = REGRESSION | DIFFERENCES
"""Losses that compare by value, and the differences that those written by hand begin with."""
COMPARING = _where(compares=True)
REPEATS = frozenset({"broadcast_to", "expand", "expand_as", "repeat", "repeat_interleave", "tile"})
"""Those by which a program makes many rows of one on purpose."""
SIGNED = {"cosine_embedding_loss": 2, "hinge_embedding_loss": 1, "soft_margin_loss": 1}
"""Those with labels of -1 and 1, with how many operands come before these."""
LOSSES = CLASSES | REGRESSION | {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
"""Those that most programs have, of any kind."""
NEVER_NEGATIVE = _where(never_negative=True)
"""`nll_loss` is not among them: it is none of what is no log-probability."""
