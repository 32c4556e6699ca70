"""The ledger of gradients: per parameter, which backwards wrote `.grad`, what used it, and whether it was cleared.

Nothing is guessed from norms: the identity and the version counter of `.grad` tell who changed it. The ledger holds
numbers only; the seams around it (backward, optimizers, clearing) tell it what is going on while it looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import torch
from msgspec.structs import replace
from torch.optim import Optimizer

from autograd_doctor.events.event import Event
from autograd_doctor.events.steps import Accumulation, GradientsCleared, GradientUse, OptimizerStepped
from autograd_doctor.findings import Location
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.detail import Detail
from autograd_doctor.instruments.spine.late_values import LateValues
from autograd_doctor.instruments.spine.optimizers import Optimizers
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import Tensors
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.optimizer_groups import parameters_of
from autograd_doctor.reading.places import Place, here, locate
from autograd_doctor.reading.provenance import Provenance
from autograd_doctor.reading.spelling import spelt
from autograd_doctor.reading.subclasses import bytes_of, gradient_of, is_leaf, is_parameter, version_of
from autograd_doctor.reading.tensor_facts import ComingNorms, is_remote, norms, norms_to_come
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.clipping import ClipCall
from autograd_doctor.signals.optimizers import ClearCall
from autograd_doctor.signals.scalers import ScalerCall

_MEASURED_BYTES = 256 * 2**20
"""Leftover gradients are copied for one backward: the float32 gradients of 64 million parameters, little beside the
weights and optimizer states of a model of that size."""
_SAME_NORM = 1e-6
"""Relative. The same values may be summed in another order, which moves the last digits of float32 (6e-8 each); a
gradient that was scaled or decayed by less than this is still the old one."""
_MASKING = frozenset({"__setitem__", "_foreach_mul", "index_fill", "index_put", "masked_fill", "mul", "where"})
"""Operations that choose, element by element, what becomes 0. A mask that lets nothing through clears no gradient."""
_SAME_SHARE = 1e-3
"""Relative. Gradients of which the same share is left were scaled; those of 16 bits are rounded then."""
_MOST_RAW_LEAVES = 200
"""Training written with plain tensors has tens of them; more are made anew in every step, and would fill the trace."""


@dataclass(slots=True)
class _Gradient:
    """What is known of one parameter's `.grad`. The first `consumed` of `backwards` were used by a step.

    used: the key that the last step left, until the gradient is written or replaced. computed_at: the version of the
    parameter when a backward wrote it. moved: the program was seen to change the parameter since.
    """

    key: tuple[int, int] | None = None
    used: tuple[int, int] | None = None
    computed_at: int = 0
    moved: bool = False
    backwards: list[int] = field(default_factory=list)
    consumed: int = 0
    consumed_norm: _Norm | None = None
    foreign: int = 0
    foreign_step_at: Location | None = None
    altered: bool = False
    reworked: bool = False

    @property
    def is_fresh(self) -> bool:
        """Whether a backward wrote what no step has used."""
        return len(self.backwards) > self.consumed

    @property
    def is_used_up(self) -> bool:
        return 0 < self.consumed == len(self.backwards)

    def clear(self) -> None:
        self.backwards = []
        self.used = None
        self.consumed = self.foreign = 0
        self.consumed_norm = None
        self.altered = self.reworked = False

    def change(self) -> None:
        """The program changed it in place."""
        self.altered = self.altered or self.is_used_up
        self.reworked = True


@dataclass(eq=False, slots=True)
class _Norm:
    """Of a gradient that a step used; None until it is read. scaled: a step has left a share of the gradient alone."""

    value: float | None = None
    scaled: bool = False


class _History(NamedTuple):
    """What a `_Gradient` held when a step began."""

    backwards: tuple[int, ...]
    consumed: int
    foreign: int
    altered: bool
    reworked: bool


class _Held(NamedTuple):
    """A gradient that a step uses. norm: to be filled in. before: that of the step before, if no clearing was seen.

    may_be_left: it is the very gradient of that step, and of which backward it comes was not seen.
    """

    parameter: int
    history: _History
    foreign_step_at: Location | None
    norm: _Norm
    before: _Norm | None
    may_be_left: bool

    def told(self) -> _History:
        """Its history, when it is known what the step before did to it."""
        self.norm.scaled = self.before is not None and self.before.scaled
        return self.history._replace(altered=self.history.altered or self.norm.scaled)


class ComingUses(NamedTuple):
    """The gradients that a step uses, whose norms are still to be read."""

    held: list[_Held]
    norms: ComingNorms

    def put_together(self, values: Sequence[float], scale: float) -> list[GradientUse]:
        """values: of `norms.parts`. scale: what the gradients are multiplied by."""
        grouped: dict[tuple[_History, bool], list[tuple[int, float]]] = {}
        foreign_steps: dict[_History, Location | None] = {}
        for gradient, norm in zip(self.held, self.norms.put_together(values), strict=True):
            before, history = gradient.before, gradient.told()
            is_left_over = gradient.may_be_left and before is not None and norm == before.value
            gradient.norm.value = norm
            grouped.setdefault((history, is_left_over), []).append((gradient.parameter, norm / scale))
            foreign_steps[history] = gradient.foreign_step_at
        return [
            _use(members, history, foreign_steps[history], left_over=left_over)
            for (history, left_over), members in grouped.items()
        ]


class _Cleared(NamedTuple):
    """A parameter without its gradient. lost: no step had used it; moved: the parameter was changed since it came.

    place: of the operation that zeroed it, if one of the program's did.
    """

    parameter: int
    lost: bool
    moved: bool
    place: Place | None

    @classmethod
    def of(cls, number: int, entry: _Gradient, parameter: torch.Tensor, made: Provenance | None = None) -> _Cleared:
        is_moved = entry.moved or version_of(parameter) != entry.computed_at
        return cls(number, entry.is_fresh, is_moved, None if made is None else made.place)


class Ledger(Instrument):
    """Ownership of gradients, kept up to date at every signal that can change one.

    It sleeps in light steps. walk: the graph of the backward that is running. wrote, accumulated: when it has ended,
    the parameters whose gradient it wrote, and those where it added onto a gradient that a step had used. beside: the
    bits of those whose gradient some backward wrote although they were not in its graph, as reversible layers do.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (GradientsCleared, OptimizerStepped)

    def __init__(
        self,
        site: Site,
        course: Course,
        detail: Detail,
        late_values: LateValues,
        parameters: Parameters,
        optimizers: Optimizers,
        tensors: Tensors,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._detail = detail
        self._late_values = late_values
        self._parameters = parameters
        self._optimizers = optimizers
        self._tensors = tensors
        self._gradients: dict[int, _Gradient] = {}
        self.walk: GraphWalk | None = None
        self.wrote: list[int] = []
        self.beside = 0
        self.accumulated: Accumulation | None = None
        self._raw_leaves = 0
        self._left_over: set[int] = set()
        self._leftovers: dict[int, torch.Tensor] = {}
        self._accumulation_measured = False
        self._versions_tell: bool | None = None
        self._written: dict[int, tuple[Location | None, ComingUses]] = {}
        self._set_at: Location | None = None
        self._given: set[int] = set()

    def connect(self, signals: Signals) -> None:
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)
        self.listen(self._course.backward_over, self._backward_over, attention=Attention.LIGHT)
        self.listen(self._detail.turned, self._turned)
        self.listen(signals.clearing.began, self._clearing_begins, attention=Attention.FULL)
        self.listen(signals.clearing.ended, self._clearing_done, attention=Attention.FULL)
        self.listen(signals.clipping.began, self._clipping_begins, attention=Attention.FULL)
        self.listen(signals.clipping.ended, self._clipping_done, attention=Attention.FULL)
        self.listen(signals.scalers.began, self._unscaling_begins, attention=Attention.FULL)
        self.listen(signals.scalers.ended, self._unscaling_done, attention=Attention.FULL)

    def _turned(self, detail: Detail) -> None:
        """Nothing is known of gradients that light steps have left behind."""
        for number, parameter in self._parameters.living() if detail.full else ():
            entry = self._gradients.get(number)
            if entry is not None:
                entry.clear()
                gradient = gradient_of(parameter)
                entry.key = None if gradient is None else _key(gradient)

    # ------------------------------------------------------------------------------------------------ questions

    def fresh(self, parameter: int) -> bool:
        """Whether a backward wrote this gradient and no step has used it yet."""
        entry = self._gradients.get(parameter)
        return entry is not None and entry.is_fresh

    def is_given(self, parameter: int) -> bool:
        """Whether the program was handed its gradient, which `backward()` does not do, and has not updated since."""
        return parameter in self._given

    def is_by_hand(self, parameter: int) -> bool:
        """Whether it has a gradient, in whichever way, that no step has used, and no optimizer that could."""
        return (self.fresh(parameter) or self.is_given(parameter)) and not self._optimizers.holds(parameter)

    # -------------------------------------------------------------------------------------------- between seams

    def forget(self, parameter: int) -> None:
        """Another leaf has taken the place of this parameter, and has no gradient yet."""
        self._gradients.pop(parameter, None)

    def written_by_hand(self, parameter: int, location: Location | None) -> None:
        """The program itself changed a parameter: an update, if it has a fresh gradient and no optimizer holds it.

        Its gradient lies in `.grad`, or was handed to the program by `torch.autograd.grad`.
        """
        if self.fresh(parameter):
            self._gradients[parameter].moved = True
        if parameter in self._written or not self.is_by_hand(parameter):
            return
        living = dict(self._parameters.living())
        self._written[parameter] = location, self.uses_to_come([(parameter, living[parameter])])

    def set_by_hand(self, location: Location | None) -> None:
        """The program assigned to the `.grad` of a parameter, which may clear it."""
        self._set_at = location

    def graph_grows(self) -> None:
        """The program builds a graph again: an update written by hand is over."""
        if self._written:
            self._step_by_hand()

    def catch_up(self) -> None:
        """Notice what the program did to parameters and gradients by hand since the last seam."""
        self._step_by_hand()
        if self._course.running is not None:
            self._attribute(self._course.running)
        else:
            self._report_cleared(self._look_for_clears(), "by hand", self._set_at, None)
        self._set_at = None

    def _clearing_begins(self, call: ClearCall) -> None:
        self.catch_up()

    def _clearing_done(self, call: ClearCall) -> None:
        """Take note of what a `zero_grad` cleared."""
        optimizer = call.cleared
        number = self._optimizers.known(optimizer) if isinstance(optimizer, Optimizer) else None
        self._report_cleared(self._look_for_clears(), call.how, here(), number)

    def _clipping_begins(self, call: ClipCall) -> None:
        self.catch_up()

    def _clipping_done(self, call: ClipCall) -> None:
        """What clipping makes 0, as it does where the norm overflows, was not cleared."""
        self._kept(call.tensors)

    def _unscaling_begins(self, call: ScalerCall) -> None:
        if call.name == "unscale_":
            self.catch_up()

    def _unscaling_done(self, call: ScalerCall) -> None:
        if call.name == "unscale_" and is_a(call.argument, Optimizer):
            self._kept(parameters_of(call.argument))

    def _kept(self, parameters: Iterable[torch.Tensor]) -> None:
        """Gradients that were changed as a whole are still those that they were."""
        for parameter in parameters:
            number, gradient = self._parameters.get(parameter), parameter.grad
            entry = None if number is None else self._gradients.get(number)
            if entry is not None and entry.key is not None and gradient is not None and entry.key[0] == id(gradient):
                entry.altered = entry.altered or entry.is_used_up
                entry.key = _key(gradient)

    def clipped(self, parameter: int, gradient: torch.Tensor) -> None:
        """An operation of the program has just clipped a gradient in place, to which nothing else was done before."""
        entry = self._gradients.get(parameter)
        identity, version = _key(gradient)
        if entry is not None and entry.key == (identity, version - 1):
            entry.altered = entry.altered or entry.is_used_up
            entry.key = identity, version

    def _look_for_clears(self) -> list[_Cleared]:
        """Parameters whose gradients became None or zero."""
        cleared, suspects = [], []
        for number, parameter in self._parameters.living():
            entry = self._gradients.get(number)
            if entry is None or entry.key is None:
                continue
            gradient = gradient_of(parameter)
            if gradient is None:
                cleared.append(_Cleared.of(number, entry, parameter))
                entry.key = None
                entry.clear()
            elif _key(gradient) != entry.key:
                suspects.append((number, parameter, gradient, entry))
        sizes = norms([gradient for *_, gradient, _ in suspects])
        zeroed = not any(sizes)  # what scales or clips gradients touches those that were zero already, too
        for (number, parameter, gradient, entry), norm in zip(suspects, sizes, strict=True):
            made = self._tensors.get(gradient)
            is_masked = norm == 0.0 and entry.is_fresh and made is not None and spelt(made.operation).name in _MASKING
            if norm == 0.0 and zeroed and entry.backwards and not is_masked:
                cleared.append(_Cleared.of(number, entry, parameter, made))
                entry.clear()
            elif not is_masked and _key(gradient)[0] != (entry.key or (0, 0))[0]:
                entry.clear()
            else:
                entry.change()
            entry.key = _key(gradient)
        return cleared

    def _report_cleared(
        self,
        cleared: list[_Cleared],
        how: Literal["optimizer.zero_grad", "module.zero_grad", "by hand"],
        location: Location | None,
        optimizer: int | None,
    ) -> None:
        if cleared:
            self.emit(
                GradientsCleared(
                    step=self._course.steps,
                    parameters=[each.parameter for each in cleared],
                    unused=[each.parameter for each in cleared if each.lost],
                    moved=[each.parameter for each in cleared if each.lost and each.moved],
                    how=how,
                    location=location or locate(next((each.place for each in cleared if each.place), None)),
                    optimizer=optimizer,
                )
            )

    # -------------------------------------------------------------------------------------------------- backward

    def _backward_began(self, call: BackwardCall) -> None:
        self.walk = None
        self._parameters.introduce()
        self.catch_up()
        self._optimizers.introduce()
        self._notice_emptied()
        self._remember(self._used_gradients())
        self.walk = GraphWalk(call.roots, call.inputs, backward=self._course.backwards, step=self._course.steps)

    def _notice_emptied(self) -> None:
        """What NumPy has filled with zeros, which no version tells, begins anew: all that no step has used."""
        fresh = []
        for number, parameter in self._parameters.living():
            entry, gradient = self._gradients.get(number), gradient_of(parameter)
            if entry is None or not entry.is_fresh or gradient is None:
                continue
            if entry.reworked or is_remote(gradient) or any(norms([gradient])):
                return
            fresh.append(entry)
        for entry in fresh:
            entry.clear()

    def _used_gradients(self) -> dict[int, torch.Tensor]:
        """Parameters that still hold, nonzero and unaltered, a gradient that an earlier step has used.

        Once a backward has added to it, its norm no longer tells whether the program has altered it. Where an
        accelerator would be waited for, versions tell, if they did in all steps that were looked at closely.
        """
        held = [
            (number, gradient, self._gradients[number])
            for number, parameter in self._parameters.living()
            if number in self._gradients and self._gradients[number].is_used_up
            if (gradient := gradient_of(parameter)) is not None
        ]
        leftovers: dict[int, torch.Tensor] = {}
        for (number, gradient, entry), norm in zip(held, self._norms_of_used(held), strict=True):
            entry.altered = entry.altered or (entry.consumed_norm is not None and entry.consumed_norm.scaled)
            is_unseen = not entry.altered and _differs(norm, entry.consumed_norm)
            if is_unseen or (self._versions_tell is None and _value(entry.consumed_norm) is not None):
                self._versions_tell = not is_unseen
            if norm == 0.0:
                entry.clear()
            elif is_unseen:
                entry.altered = True
            elif not entry.altered:
                leftovers[number] = gradient
        return leftovers

    def _norms_of_used(self, held: list[tuple[int, torch.Tensor, _Gradient]]) -> list[float]:
        knows = self._versions_tell and not self._detail.closely and all(is_remote(gradient) for _, gradient, _ in held)
        known = [norm for *_, entry in held if knows and (norm := _value(entry.consumed_norm)) is not None]
        return known if len(known) == len(held) else norms([gradient for _, gradient, _ in held])

    def _remember(self, leftovers: dict[int, torch.Tensor]) -> None:
        """Copy leftover gradients, once per run, so that the error they cause can be measured after the backward."""
        self._left_over = set(leftovers)
        size = sum(bytes_of(gradient) for gradient in leftovers.values())
        if leftovers and not self._accumulation_measured and size <= _MEASURED_BYTES:
            self._leftovers = {number: gradient.detach().clone() for number, gradient in leftovers.items()}

    def _backward_ended(self, call: BackwardCall) -> None:
        if self.walk is None:
            return
        if call.kind == "backward" and not call.inputs:
            self._number_leaves(self.walk)
        if call.kind == "grad":
            self._take_note_of_given(call)
        self.wrote = self._attribute(self.walk.backward)
        self._note_beside(self.walk)
        onto = sorted(self._left_over.intersection(self.wrote))
        error = self._relative_error(onto)
        self._leftovers = {}
        self.accumulated = Accumulation(parameters=onto, relative_error=error) if onto else None

    def _note_beside(self, walk: GraphWalk) -> None:
        in_graph = {self._parameters.get(leaf) for leaf in walk.leaves.values()}
        for number in self.wrote:
            self.beside |= 0 if number in in_graph else 1 << number

    def _take_note_of_given(self, call: BackwardCall) -> None:
        """Leaves whose gradients the program was handed: parameters, and where no optimizer was built any leaf."""
        self.give(tensor for tensor in call.inputs if issubclass(type(tensor), torch.Tensor))

    def give(self, tensors: Iterable[torch.Tensor]) -> None:
        """The program was handed the gradients of these."""
        any_leaf = next(self._optimizers.living(), None) is None
        for tensor in tensors:
            if is_parameter(tensor) or (any_leaf and is_leaf(tensor)):
                self._given.add(self._parameters.number(tensor))
        if self._given:
            self._parameters.introduce()  # a leaf may be gone when the next backward begins

    def _backward_over(self, course: Course) -> None:
        self.walk = None  # its nodes would keep the graph alive

    def _number_leaves(self, walk: GraphWalk) -> None:
        """Leaves of the graph that collect a gradient, also those of training written with plain tensors."""
        for leaf in walk.leaves.values():
            if self._parameters.get(leaf) is None and leaf.grad is not None:
                if not isinstance(leaf, torch.nn.Parameter):
                    self._raw_leaves += 1
                if self._raw_leaves <= _MOST_RAW_LEAVES:
                    self._parameters.number(leaf)

    def _attribute(self, backward: int) -> list[int]:
        """Put every gradient that changed on the account of a running or finished backward."""
        wrote = []
        for number, parameter in self._parameters.living():
            gradient = gradient_of(parameter)
            if gradient is None:
                continue
            entry = self._gradients.get(number)
            if entry is None:
                entry = self._gradients[number] = _Gradient()
            key = _key(gradient)
            if key != entry.key:
                entry.key, entry.used = key, None
                entry.computed_at, entry.moved = version_of(parameter), False
                if not entry.backwards or entry.backwards[-1] != backward:
                    entry.backwards.append(backward)
            if entry.backwards and entry.backwards[-1] == backward:
                wrote.append(number)
        return wrote

    def _relative_error(self, parameters: list[int]) -> float | None:
        if not parameters or not self._leftovers:
            return None
        living = dict(self._parameters.living())
        pairs = [(self._leftovers[number], living[number].grad) for number in parameters if number in self._leftovers]
        stale = sum(norm**2 for norm in norms([before for before, _ in pairs]))
        fresh = sum(norm**2 for norm in norms([after - before for before, after in pairs if after is not None]))
        self._accumulation_measured = True
        return float((stale / fresh) ** 0.5) if fresh > 0 else None

    # ------------------------------------------------------------------------------------------------------ step

    def _step_by_hand(self) -> None:
        """Report parameters that the program has updated without an optimizer since the last seam as one step."""
        if not self._written:
            return
        written, self._written = self._written, {}
        self._given.clear()
        location = next(iter(written.values()))[0]
        living = dict(self._parameters.living())
        changed = [(number, living[number]) for number in written if number in living]
        stepped = OptimizerStepped(
            step=self._course.steps,
            optimizer=None,
            location=location,
            uses=[],
            moved=list(written),
        )
        self.tell(stepped, [coming for _, coming in written.values()])
        self.stepped(changed, location)
        self._course.updated_by_hand([parameter for _, parameter in changed])

    def tell(self, stepped: OptimizerStepped, coming: list[ComingUses]) -> None:
        """State a step that the program takes by itself, when the norms of its gradients and the loss are known."""
        loss = self._course.coming_loss()

        def known(values: Sequence[float]) -> None:
            left = iter(values)
            uses = (each.put_together([next(left) for _ in each.norms.parts], 1.0) for each in coming)
            self.emit(replace(stepped, uses=[use for some in uses for use in some], loss=loss()))

        self._late_values.ask(self, [part for each in coming for part in each.norms.parts], known, in_place=True)

    def uses_to_come(self, parameters: list[tuple[int, torch.Tensor]]) -> ComingUses:
        """The gradients that a step is about to use, for whoever gets to know their norms later."""
        held = [(number, gradient) for number, p in parameters if (gradient := gradient_of(p)) is not None]
        found = []
        for number, _ in held:
            entry = self._gradients.setdefault(number, _Gradient())
            before, entry.consumed_norm = entry.consumed_norm, _Norm()
            is_old = not entry.backwards and entry.used == entry.key
            history = _History(
                tuple(entry.backwards),
                entry.consumed,
                entry.foreign,
                altered=entry.altered,
                reworked=entry.reworked,
            )
            found.append(_Held(number, history, entry.foreign_step_at, entry.consumed_norm, before, is_old))
        return ComingUses(found, norms_to_come([gradient for _, gradient in held]))

    def stepped(
        self, parameters: list[tuple[int, torch.Tensor]], location: Location | None, *, unscales: bool = False
    ) -> None:
        """Mark the gradients that a step has used, and those that it left to the parameters of other optimizers.

        unscales: it divides them by a loss scale.
        """
        used: set[int] = set()
        changed: list[tuple[_Norm, _Norm, torch.Tensor]] = []
        mine = set()
        for number, parameter in parameters:
            entry = self._gradients.setdefault(number, _Gradient())
            used.update(entry.backwards[entry.consumed :])
            mine.add(number)
            entry.consumed = len(entry.backwards)
            gradient = gradient_of(parameter)
            if gradient is None:
                entry.key = None
                entry.clear()
            else:
                if _key(gradient) != entry.key:
                    found, entry.consumed_norm = entry.consumed_norm or _Norm(), _Norm()
                    entry.key = _key(gradient)
                    changed.append((found, entry.consumed_norm, gradient))
                entry.used = entry.key
        for number, entry in self._gradients.items():
            if number not in mine and used.intersection(entry.backwards):
                entry.foreign = max(i + 1 for i, backward in enumerate(entry.backwards) if backward in used)
                entry.foreign_step_at = location
        if changed and not unscales:
            self._look_for_scaling(changed)

    def _look_for_scaling(self, changed: list[tuple[_Norm, _Norm, torch.Tensor]]) -> None:
        """Whether a step, or a hook on it, has left the same share of each gradient that it changed.

        So does a decay. An optimizer that adds to gradients, as for weight decay, leaves other shares of each.
        """
        coming = norms_to_come([gradient for *_, gradient in changed])

        def known(values: Sequence[float]) -> None:
            left = coming.put_together(values)
            shares = [now / found.value for now, (found, *_) in zip(left, changed, strict=True) if found.value]
            lowest, highest = min(shares, default=0.0), max(shares, default=0.0)
            is_scaled = 0.0 < highest < 1.0 and highest - lowest <= _SAME_SHARE * highest
            for found, norm, _ in changed:
                norm.scaled = is_scaled or found.scaled

        self._late_values.ask(self, coming.parts, known)


def _use(
    members: list[tuple[int, float]], history: _History, foreign_step_at: Location | None, *, left_over: bool
) -> GradientUse:
    newer = len(history.backwards) > history.foreign
    return GradientUse(
        parameters=[number for number, _ in members],
        norms=[norm for _, norm in members],
        backwards=list(history.backwards),
        consumed=list(history.backwards[: history.consumed]),
        foreign=list(history.backwards[: history.foreign]) if newer else [],
        foreign_step_at=foreign_step_at if newer and history.foreign else None,
        altered=history.altered,
        reworked=history.reworked,
        left_over=left_over,
    )


def _value(norm: _Norm | None) -> float | None:
    return None if norm is None else norm.value


def _differs(norm: float, before: _Norm | None) -> bool:
    value = _value(before)
    return value is not None and abs(norm - value) > _SAME_NORM * norm


def _key(gradient: torch.Tensor) -> tuple[int, int]:
    return id(gradient), version_of(gradient)
