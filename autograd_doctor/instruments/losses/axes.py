"""What the axes of tensors stand for, and the views that give the values of one axis to another.

Axes begin where tensors come into view, and where layers make features, channels and states. They are followed through
operations that keep the shape, and through views by their strides; where anything else is done, they are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch.nn.parameter import is_lazy

from autograd_doctor.events.event import Event
from autograd_doctor.events.losses import AxesMixed, AxesRestored
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.lineage import Lineage, Recorded
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.operations import RECURRENT, RESHAPES
from autograd_doctor.reading import axes
from autograd_doctor.reading.numbers import IdentityTable
from autograd_doctor.reading.operation_kinds import FROM_DATA
from autograd_doctor.reading.places import Place, locate
from autograd_doctor.reading.subclasses import dispatches
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention

_CONVOLUTIONS = frozenset({f"conv{transposed}{n}d" for transposed in ("", "_transpose") for n in (1, 2, 3)})
_COPIES = frozenset({"contiguous", "clone"})
_PRODUCTS = frozenset({"matmul", "__matmul__", "bmm", "scaled_dot_product_attention"})
_MOST_PLACES = 16
"""Lines at which views are told of: people write a handful."""
_MOST_STEPS = 2


class AxesFollowed(Instrument):
    """States the views that mix axes, in two steps for each line."""

    emits: ClassVar[tuple[type[Event], ...]] = (AxesMixed, AxesRestored)

    def __init__(self, site: Site, course: Course, detail: Detail, tensors: Tensors, lineage: Lineage) -> None:
        super().__init__(site)
        self._course = course
        self._tensors = tensors
        self._lineage = lineage
        self._axes: IdentityTable[tuple[axes.Axes | None, torch.Size]] = IdentityTable()
        """None: axes of its own, for which nobody has asked yet."""
        self._told: dict[object, set[int]] = {}
        self._cut: dict[axes.Atom, Place] = {}
        """First axes, by the places where their rows were cut into shorter ones."""

    def connect(self, signals: Signals) -> None:
        self.listen(self._lineage.recorded, self._recorded)
        self.listen(self._course.step_taken, self._step_taken, attention=Attention.CLOSE)

    def _step_taken(self, course: Course) -> None:
        self._axes.clear()
        self._cut.clear()

    def _recorded(self, recorded: Recorded) -> None:
        output, inputs, name = recorded.output, recorded.inputs, recorded.made.operation
        if any(map(is_lazy, inputs)) or any(map(dispatches, (output, *inputs))) or not output.dim():
            return
        if output.layout is not torch.strided or output.is_nested:
            return
        found = self._made(name, inputs, output) if inputs else None
        if name in RESHAPES and inputs:
            self._look(recorded, inputs[0].shape, self._of(inputs[0]))
            self._restored(found or ())
        elif name in FROM_DATA and recorded.operation is not None:
            self._look(recorded, *_shape_before(recorded.operation.args))
        if found is not None or not recorded.made.values:
            self._axes.put(output, (found, output.shape))
        else:
            self._axes.discard(output)

    def _of(self, tensor: torch.Tensor) -> axes.Axes | None:
        """The axes of a tensor; all that comes from outside has axes of its own."""
        known = self._axes.get(tensor)
        if known is None:
            made = self._tensors.get(tensor)
            if made is not None and made.step == self._course.steps:
                return None
        elif known[0] is not None or known[1] != tensor.shape:
            return known[0] if known[1] == tensor.shape else None
        own = axes.fresh_axes(tensor)
        self._axes.put(tensor, (own, tensor.shape))
        return own

    def _made(self, name: str, inputs: Sequence[torch.Tensor], output: torch.Tensor) -> axes.Axes | None:
        source = inputs[0]
        if source.layout is not torch.strided or source.is_nested:
            return None
        known = self._of(source)
        if name in RECURRENT:
            return _recurrent(inputs, output)
        if name in RESHAPES:
            return axes.reshaped(known, output.shape) if known is not None else None
        if name in _CONVOLUTIONS and output.dim() == source.dim() > 2:
            first = known[0] if known is not None else axes.fresh(output.shape[0])
            return (first, axes.fresh(output.shape[1], "channels"), *map(axes.fresh, output.shape[2:]))
        if name == "linear" and output.dim() == source.dim():
            leading = known[:-1] if known is not None else axes.fresh_axes(source)[:-1]
            return (*leading, axes.fresh(output.shape[-1], "features"))
        if name in _PRODUCTS:
            return self._product(known, inputs, output)
        view = axes.moved(known, source, output) if known is not None and name not in _COPIES else None
        return view or self._of_the_same_shape(inputs, output)

    def _product(
        self, rows: axes.Axes | None, inputs: Sequence[torch.Tensor], output: torch.Tensor
    ) -> axes.Axes | None:
        """The rows of the first factor, or of queries, and the columns of the last, or of values."""
        last = inputs[min(len(inputs) - 1, 2)]
        columns = self._of(last)
        if rows is None or columns is None or last.dim() < 2:
            return None
        fits = output.shape[:-1] == inputs[0].shape[:-1] and output.shape[-1] == last.shape[-1]
        return (*rows[:-1], columns[-1]) if fits else None

    def _of_the_same_shape(self, inputs: Sequence[torch.Tensor], output: torch.Tensor) -> axes.Axes | None:
        alike = (self._of(each) for each in inputs if each.shape == output.shape)
        return next((known for known in alike if known is not None), None)

    def _look(self, recorded: Recorded, before: Sequence[int], known: axes.Axes | None) -> None:
        output, made = recorded.output, recorded.made
        mixed = axes.mixture(known, before, output.shape) if known is not None else None
        steps = self._told.get(made.place, set())
        if mixed is None or len(steps) >= _MOST_STEPS or self._course.steps in steps:
            return
        if len(self._told) >= _MOST_PLACES or not (output.is_floating_point() or output.dtype is torch.uint8):
            return
        self._told.setdefault(made.place, set()).add(self._course.steps)
        if known is not None and made.place is not None and axes.are_cut(known, before, output.shape):
            self._cut[known[0][0]] = made.place
        origin = self._tensors.get(recorded.inputs[0]) if recorded.inputs else None
        self.emit(
            AxesMixed(
                step=self._course.steps,
                operation=made.operation if recorded.inputs else "reshape",
                location=locate(made.place),
                how=mixed.how,
                before=list(before),
                after=list(output.shape),
                size=mixed.size,
                made_by=origin.operation if origin is not None else "",
                made_at=locate(origin.place) if origin is not None else None,
                learns=output.requires_grad,
            )
        )

    def _restored(self, found: axes.Axes) -> None:
        """What was cut was not mixed where each of the rows comes back to the sample that it is of."""
        for axis in found:
            where = self._cut.pop(axis[0], None) if len(axis) == 1 else None
            if where is not None:
                self.emit(AxesRestored(step=self._course.steps, location=locate(where)))


def _shape_before(args: Sequence[Any]) -> tuple[Sequence[int], axes.Axes | None]:
    """The shape that an array of NumPy had before it was given another one, and its axes."""
    array: Any = args[0] if args else None
    base: Any = array.base if type(array).__module__ == "numpy" and hasattr(array, "base") else None
    if base is None or type(base) is not type(array) or base.size != array.size:
        return (), None
    if not (base.flags.c_contiguous and array.flags.c_contiguous):
        return (), None
    return base.shape, tuple(map(axes.fresh, base.shape))


def _recurrent(inputs: Sequence[torch.Tensor], output: torch.Tensor) -> axes.Axes | None:
    """The states of a recurrent layer, and what it put out: the size of the batch is that of its first state."""
    state = next((each for each in inputs[1:] if each.dim() == 3), None)
    if state is None or output.dim() != 3:
        return None
    samples = state.shape[1]
    last = axes.fresh(output.shape[2])
    if output.shape[:2] == state.shape[:2] or output.shape[1] == samples != output.shape[0]:
        return axes.fresh(output.shape[0]), axes.fresh(output.shape[1], "samples"), last
    if output.shape[0] == samples != output.shape[1]:
        return axes.fresh(output.shape[0], "samples"), axes.fresh(output.shape[1]), last
    return None
