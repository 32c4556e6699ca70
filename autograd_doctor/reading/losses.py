"""The loss functions of torch: what each expects of its prediction and its target.

Source: the pages of `torch.nn.functional`. A test holds them to what the functions do.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

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
