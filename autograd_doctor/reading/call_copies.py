"""A call of the program's, copied: its module and what it was given, for trials in which some of that is changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from autograd_doctor.reading.module_copies import copies_of, copy_of, obstacle
from autograd_doctor.reading.tensor_facts import are_equal
from autograd_doctor.reading.tensors_in import EVERYTHING, tensors_in
from autograd_doctor.reading.trials import Undecided, fresh


class CopiedCall(NamedTuple):
    """A copy of a module in evaluation mode, and its arguments with copies of their tensors."""

    module: nn.Module
    args: Any
    kwargs: Any

    def made(self) -> Any:
        """What the module returns. Call it in a block of `alone`."""
        return self.module(*fresh(self.args), **fresh(self.kwargs))

    def like(self, wanted: torch.Tensor | None) -> list[torch.Tensor]:
        """The arguments that hold the same values."""
        given = tensors_in((self.args, self.kwargs), EVERYTHING) if wanted is not None else []
        return [each for each in given if wanted is not None and are_equal(each, wanted)]


def copied_call(module: nn.Module, args: Any, kwargs: Any, changing: torch.Tensor) -> tuple[CopiedCall, torch.Tensor]:
    """A call, and the one of its arguments that is to be changed. changing: what that held. Raises `Undecided` where
    no copy can be made, or this is not among its arguments any more."""
    reason = obstacle(module)
    if reason:
        raise Undecided(reason)
    given = (copies_of(args, records=True) or (), copies_of(kwargs, records=True) or {})
    call = CopiedCall(copy_of(module), *given)
    found = next(iter(call.like(changing)), None)
    if found is None:
        raise Undecided("its inputs are too large, not plain tensors, or were changed")
    return call, found
