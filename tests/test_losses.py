"""The catalogue of losses, held to what torch does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from autograd_doctor import operations
from autograd_doctor.operations import CATALOGUE, CLASSES, COMPARING, DRAWS, LOSSES, NEVER_NEGATIVE, REGRESSION

Given = Callable[[], tuple[Any, ...]]


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(*shape) * 3


def classes(*shape: int) -> torch.Tensor:
    return torch.randint(0, 4, shape)


def signs(*shape: int) -> torch.Tensor:
    return torch.rand(*shape).sub(0.5).sign()


WHAT_THEY_EXPECT: dict[str, Given] = {
    "binary_cross_entropy": lambda: (torch.rand(6, 4), torch.rand(6, 4)),
    "binary_cross_entropy_with_logits": lambda: (rows(6, 4), torch.rand(6, 4)),
    "cosine_embedding_loss": lambda: (rows(6, 4), rows(6, 4), signs(6)),
    "cross_entropy": lambda: (rows(6, 4), classes(6)),
    "ctc_loss": lambda: (
        rows(9, 2, 4).log_softmax(2),
        torch.randint(1, 4, (2, 3)),
        torch.full((2,), 9),
        torch.full((2,), 3),
    ),
    "gaussian_nll_loss": lambda: (torch.rand(6, 4), torch.rand(6, 4), torch.rand(6, 4)),
    "hinge_embedding_loss": lambda: (rows(6, 4), signs(6, 4)),
    "huber_loss": lambda: (rows(6, 4), rows(6, 4)),
    "kl_div": lambda: (rows(6, 4), torch.rand(6, 4)),
    "l1_loss": lambda: (rows(6, 4), rows(6, 4)),
    "margin_ranking_loss": lambda: (rows(6), rows(6), signs(6)),
    "mse_loss": lambda: (rows(6, 4), rows(6, 4)),
    "multi_margin_loss": lambda: (rows(6, 4), classes(6)),
    "multilabel_margin_loss": lambda: (rows(6, 4), torch.tensor([[0, 2, -1, -1]] * 6)),
    "multilabel_soft_margin_loss": lambda: (rows(6, 4), torch.rand(6, 4).round()),
    "nll_loss": lambda: (rows(6, 4), classes(6)),
    "poisson_nll_loss": lambda: (rows(6, 4), torch.rand(6, 4) * 90),
    "smooth_l1_loss": lambda: (rows(6, 4), rows(6, 4)),
    "soft_margin_loss": lambda: (rows(6, 4), signs(6, 4)),
    "triplet_margin_loss": lambda: (rows(6, 4), rows(6, 4), rows(6, 4)),
}
"""Beside `nll_loss`, which takes logarithms of probabilities and sees no difference."""


def computed(name: str, *given: Any, **options: Any) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss: torch.Tensor = getattr(functional, name)(*given, **options)
    return loss


def test_it_holds_all_losses_of_torch_of_predictions() -> None:
    all_of_torch = {name for name in dir(functional) if name.endswith("_loss") and not name.startswith("_")}
    all_of_torch.remove("triplet_margin_with_distance_loss")
    assert set(CATALOGUE) == {name for name in all_of_torch if "adaptive" not in name} | {
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div",
    }  # fmt: skip
    assert set(WHAT_THEY_EXPECT) == set(CATALOGUE)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_which_are_never_negative(name: str) -> None:
    torch.manual_seed(0)
    found = [bool((computed(name, *WHAT_THEY_EXPECT[name]()) < 0).any()) for _ in range(60)]
    assert any(found) is not CATALOGUE[name].never_negative


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_which_compare_value_by_value(name: str) -> None:
    given = WHAT_THEY_EXPECT[name]()
    losses = computed(name, *given, reduction="none")
    assert CATALOGUE[name].by_element is (losses.shape == given[0].shape)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_which_take_the_numbers_of_classes(name: str) -> None:
    try:
        computed(name, rows(6, 4), classes(6))
    except (RuntimeError, ValueError, TypeError, IndexError):
        assert not CATALOGUE[name].over_classes
    else:
        assert CATALOGUE[name].over_classes or not CATALOGUE[name].compares


def test_what_is_derived_from_it() -> None:
    assert {"cross_entropy", "nll_loss"} == CLASSES
    assert {"huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"} == REGRESSION
    assert REGRESSION < LOSSES < COMPARING
    assert "nll_loss" not in NEVER_NEGATIVE


# ------------------------------------------------------------------------------------------------------- other kinds


KINDS = {name: kind for name, kind in vars(operations).items() if isinstance(kind, frozenset | dict) and name.isupper()}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_operations_of_a_kind_are_torchs(kind: str) -> None:
    known = set(dir(torch)) | set(dir(torch.Tensor)) | set(dir(functional)) | set(dir(torch._C._nn))
    assert [name for name in KINDS[kind] if name not in known and not hasattr(torch.ops.aten, name)] == []


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_a_draw_gives_other_numbers_the_next_time(name: str) -> None:
    given: dict[str, tuple[Any, ...]] = {
        "binomial": (torch.full((50,), 9.0), torch.full((50,), 0.5)),
        "multinomial": (torch.ones(50), 20),
        "normal": (torch.zeros(50), 1.0),
        "randint": (0, 9, (50,)),
    }
    needs_tensor = name.endswith(("_", "_like")) or name in ("bernoulli", "poisson")
    arguments = given.get(name, (torch.full((50,), 0.5) if needs_tensor else 50,))
    draw = getattr(torch, name, None) or getattr(torch.Tensor, name)
    first, second = draw(*arguments).clone(), draw(*arguments)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("reduce", [None, True, False])
@pytest.mark.parametrize("average", [None, True, False])
def test_older_words_for_the_reduction(average: bool | None, reduce: bool | None) -> None:
    """What torch makes of them, as the loss of two errors of 1 and 3 tells."""
    given = {"size_average": average, "reduce": reduce, "reduction": "mean"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = functional.mse_loss(torch.tensor([1.0, 3.0]), torch.zeros(2), **given)  # type: ignore[arg-type]
    values = {"mean": 5.0, "sum": 10.0}
    told = operations.reduction(given)
    assert (loss.dim() == 1) if told == "none" else (float(loss) == values[told])
    assert operations.reduction({"reduction": "sum"}) == "sum"
    assert operations.reduction({}) == "mean"
