"""The operations of torch by what they do to values, and its loss functions by what they expect.

Names are those that torch calls them by, each spelling among them (`reading.spelling` tells which is which); on a tape,
operations have their canonical names. Source: the pages of `torch` and `torch.nn.functional`. A test holds the losses
to what the functions do.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

JOINS = frozenset({"stack", "cat", "concat", "concatenate", "hstack", "vstack"})
"""Operations that put terms one beside the other, for a sum to come."""
DIFFERENCES = frozenset({"sub", "subtract", "__rsub__", "rsub", "sub_", "__isub__"})
SUMS = frozenset({"add", "__radd__", "add_", "__iadd__"}) | DIFFERENCES | JOINS
PRODUCTS = frozenset({
    "__imul__", "__itruediv__", "__matmul__", "__rmul__", "div", "div_", "divide", "dot", "inner", "matmul", "mul",
    "mul_", "multiply", "mv", "true_divide",
})  # fmt: skip
"""Linear as long as all factors but one are plain data."""
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
DRAWS = frozenset({"bernoulli", "bernoulli_", "binomial", "multinomial", "normal", "poisson"})
"""Operations that draw at random as one of their arguments says, and give it no gradient."""
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
    "cross_entropy": Loss("scores", over_classes=True),
    "ctc_loss": Loss("log-probabilities"),
    "gaussian_nll_loss": Loss("values", by_element=True, never_negative=False),
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


def _where(**facts: object) -> frozenset[str]:
    return frozenset(
        name for name, loss in CATALOGUE.items() if all(getattr(loss, fact) == value for fact, value in facts.items())
    )


CLASSES = _where(over_classes=True)
BY_ELEMENT = _where(by_element=True)
REGRESSION = _where(expects="values", by_element=True, never_negative=True, compares=True)
COMPARING = _where(compares=True)
LOSSES = CLASSES | REGRESSION | {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
"""Those that most programs have, of any kind."""
NEVER_NEGATIVE = _where(never_negative=True)
"""`nll_loss` is not among them: it is none of what is no log-probability."""
