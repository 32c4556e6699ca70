"""The functions of torch that compare an input with a target, by their names."""

from __future__ import annotations

CLASSES = frozenset({"cross_entropy", "nll_loss"})
"""Of which the target may be the number of a class."""
IGNORED = -100
"""The target that these ignore if they are told of none."""
REGRESSION = frozenset({"huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"})
LOSSES = CLASSES | REGRESSION | {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
COMPARING = LOSSES | {"ctc_loss", "gaussian_nll_loss", "kl_div", "multilabel_soft_margin_loss", "poisson_nll_loss"}
"""Those of which prediction and target are looked at."""
