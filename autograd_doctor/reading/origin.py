"""The birth of a non-finite value, as it travels with the values that it spoils."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.events.numerics import NonFiniteInput, NonFiniteProduced
from autograd_doctor.reading.operation_kinds import MASKS
from autograd_doctor.reading.places import Place, locate


@dataclass(frozen=True)
class Origin:
    """The birth of a non-finite value: the operation, or None for a tensor that came in already spoiled.

    low_precision: whether the same operation is finite in float32, None if that was not tried. written_at: where the
    program wrote down the infinities that went in. has_nan: there is NaN, where nobody has counted what there is.
    """

    operation: str | None
    place: Place | None
    output: TensorFacts
    operands: tuple[TensorFacts, ...]
    rows: tuple[int, ...]
    low_precision: bool | None = None
    written_at: Place | None = None
    has_nan: bool = False

    @property
    def deliberate(self) -> bool:
        """An infinity that the program wrote down itself, as masks do."""
        return self.operation in MASKS and not self.holds_nan

    @property
    def holds_nan(self) -> bool:
        return self.output.nan > 0 or self.has_nan

    @property
    def is_of_spoiled_weights(self) -> bool:
        """What is trained, or a view of it, that was spoiled before anybody looked."""
        return self.operation is None and self.output.requires_grad

    def event(self, step: int, reached: Literal["loss", "backward", "gradient", "read"] = "loss") -> Event:
        if self.operation is None:
            return NonFiniteInput(step=step, tensor=self.output, location=locate(self.place), rows=list(self.rows))
        return NonFiniteProduced(
            step=step,
            operation=self.operation,
            location=locate(self.place),
            output=self.output,
            operands=list(self.operands),
            rows=list(self.rows),
            reached=reached,
            low_precision=self.low_precision,
            written_at=locate(self.written_at),
        )
