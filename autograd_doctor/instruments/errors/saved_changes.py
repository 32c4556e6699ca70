"""Tensors saved for backward and changed before it: autograd's complaint traced to its lines, and silent changes."""

from __future__ import annotations

import math
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch.autograd.function import BackwardCFunction

from autograd_doctor.events.errors import InPlaceChange, SavedTensorChanged
from autograd_doctor.events.event import Event
from autograd_doctor.events.facts import TensorFacts
from autograd_doctor.instruments.instrument import Instrument, Site
from autograd_doctor.instruments.spine.course import Course
from autograd_doctor.instruments.spine.ledger import Ledger
from autograd_doctor.instruments.spine.lineage import Lineage
from autograd_doctor.instruments.spine.optimizer_steps import OptimizerSteps
from autograd_doctor.instruments.spine.parameters import Parameters
from autograd_doctor.instruments.spine.tensors import HiddenChange, Tensors
from autograd_doctor.reading.gradient_error import relative_error
from autograd_doctor.reading.graph_bytes import saved_by
from autograd_doctor.reading.graph_walk import GraphWalk
from autograd_doctor.reading.places import here, locate
from autograd_doctor.reading.provenance import Provenance, address, leaf_of
from autograd_doctor.reading.regions import region_of
from autograd_doctor.reading.subclasses import version_of
from autograd_doctor.reading.tensor_facts import describe
from autograd_doctor.reading.variable_names import variable_name
from autograd_doctor.reading.without_running import is_a
from autograd_doctor.signals import Signals
from autograd_doctor.signals.attention import Attention
from autograd_doctor.signals.backward import BackwardCall
from autograd_doctor.signals.optimizers import StepCall

_COMPLAINT = "modified by an inplace operation"
_DETAILS = re.compile(r"\[[\w.]+ \[([\d, ]*)\]\].*is at version (\d+); expected version (\d+)")
_VIEW = re.compile(r"output \d+ of (AsStrided|Select|Slice|Split|Chunk|Unbind|Narrow|View|Squeeze|Transpose|Permute)")


class _Complaint(NamedTuple):
    """What autograd's error says of the tensor: its shape, its version, and the version that was saved."""

    shape: list[int]
    version: int
    expected: int
    of_view: bool

    @classmethod
    def read(cls, error: str) -> Self:
        details = _DETAILS.search(error)
        if details is None:
            return cls([], 0, 0, of_view=False)
        shape = [int(size) for size in details[1].split(",") if size.strip()]
        return cls(shape, int(details[2]), int(details[3]), of_view=_VIEW.search(error) is not None)

    def fits(self, made: Provenance) -> bool:
        return made.changes[-1].version == self.version and sorted(made.shape) == sorted(self.shape)

    def fits_part(self, made: Provenance) -> bool:
        """Whether it may be a view of that tensor: a view shares the version of the whole."""
        larger = math.prod(made.shape) > math.prod(self.shape)
        return self.of_view and larger and made.changes[-1].version == self.version


class _Swapped(NamedTuple):
    """A silent change of a parameter, and what it had been."""

    event: SavedTensorChanged
    parameter: weakref.ref[torch.Tensor]
    original: torch.Tensor

    def is_back(self) -> bool:
        now = self.parameter()
        return now is not None and torch.equal(now.detach().reshape(-1), self.original.reshape(-1))


class SavedChanges(Instrument):
    """Looks at the graph of each backward before it runs, and at autograd's complaint where it raised one.

    A silent change of a parameter that is taken back behind the backward, before the step, was made for it: the
    backward was to meet other values. The lineage fills the table of changes, the steps of optimizers tell where
    parameters were last updated.
    """

    emits: ClassVar[tuple[type[Event], ...]] = (SavedTensorChanged,)

    def __init__(
        self,
        site: Site,
        course: Course,
        parameters: Parameters,
        tensors: Tensors,
        ledger: Ledger,
        lineage: Lineage,
        optimizer_steps: OptimizerSteps,
    ) -> None:
        super().__init__(site)
        self._course = course
        self._parameters = parameters
        self._tensors = tensors
        self._ledger = ledger
        self._hooked = False
        self._swapped: list[_Swapped] = []

    def connect(self, signals: Signals) -> None:
        self.listen(signals.steps.began, self._step_began, attention=Attention.FULL)
        self.listen(signals.backward.began, self._backward_began, attention=Attention.FULL)
        self.listen(signals.backward.ended, self._backward_ended, attention=Attention.LIGHT)
        self.listen(signals.hooks.on_tensor, self._hook_registered)

    def _hook_registered(self, tensor: torch.Tensor) -> None:
        self._hooked = True

    def _backward_began(self, call: BackwardCall) -> None:
        changed = self._hidden(self._ledger.walk, call.roots[0]) if self._ledger.walk is not None else None
        if isinstance(changed, _Swapped):
            self._swapped.append(changed)
        elif changed is not None:
            self.emit(changed)

    def _step_began(self, call: StepCall) -> None:
        self._tell_of_swapped()

    def finish(self) -> None:
        self._tell_of_swapped()

    def _tell_of_swapped(self) -> None:
        for swapped in self._swapped:
            if not swapped.is_back():
                self.emit(swapped.event)
        self._swapped.clear()

    def _backward_ended(self, call: BackwardCall) -> None:
        walk = self._ledger.walk
        error = call.error if type(call.error) is RuntimeError else None  # the words of others are the program's
        if walk is not None and error is not None and _COMPLAINT in str(error):
            self.emit(self._complained_of(walk, str(error)))

    def _complained_of(self, walk: GraphWalk, error: str) -> SavedTensorChanged:
        """Explain autograd's error about an in-place operation."""
        complaint = _Complaint.read(error)
        node = next((node for node in walk.nodes.values() if _refuses(node)), None)
        saver = walk.made.get(id(node)) if node is not None else None
        facts, change = (
            self._changed_tensor(walk, complaint, complaint.fits)
            or self._parameter_changed(node, complaint)
            or self._changed_tensor(walk, complaint, complaint.fits_part)
            or (TensorFacts(shape=complaint.shape, dtype=""), InPlaceChange("", None, complaint.version))
        )
        return SavedTensorChanged(
            step=self._course.steps,
            backward=walk.backward,
            tensor=facts,
            saved_by=saver.operation if saver else "",
            saved_at=locate(saver.place) if saver else None,
            changed=change,
            needed_at=here(),
            silently=False,
        )

    def _changed_tensor(
        self, walk: GraphWalk, complaint: _Complaint, fits: Callable[[Provenance], bool]
    ) -> tuple[TensorFacts, InPlaceChange] | None:
        """The tensor that fits, alive or still in the graph, and the first change after it was saved."""
        alive = {id(made): (tensor, made) for tensor, made in self._tensors.living()}
        candidates: list[tuple[torch.Tensor | None, Provenance]] = list(alive.values())
        candidates += [(None, made) for made in walk.made.values() if made is not None and id(made) not in alive]
        for tensor, made in candidates:
            changes = made.changes if made.changes and fits(made) else ()
            change = next((change for change in changes if change.version > complaint.expected), None)
            if change is not None:
                facts = (
                    describe(
                        tensor, name=variable_name(tensor), operation=made.created_by, made_at=locate(made.created_at)
                    )
                    if tensor is not None
                    else TensorFacts(
                        shape=list(made.shape), dtype="", operation=made.created_by, made_at=locate(made.created_at)
                    )
                )
                return facts, InPlaceChange(change.operation, locate(change.place), change.version)
        return None

    def _parameter_changed(self, node: Any, complaint: _Complaint) -> tuple[TensorFacts, InPlaceChange] | None:
        """A parameter that an optimizer updated between the forward and this backward."""
        for leaf in _leaves_near(node):
            if version_of(leaf) == complaint.version and sorted(leaf.shape) == sorted(complaint.shape):
                number = self._parameters.get(leaf)
                name = "" if number is None else self._parameters.name_of(number)
                return describe(leaf, name=name), InPlaceChange(
                    "step", self._course.updated_at(leaf), complaint.version
                )
        return None

    def _hidden(self, walk: GraphWalk, root: torch.Tensor) -> SavedTensorChanged | _Swapped | None:
        """The first saved tensor whose storage was changed, unseen by autograd, after its node was made; of a parameter
        with what it had been, where that is known."""
        latest = max((change.order for change in self._tensors.hidden_changes), default=0)
        for node in walk.nodes.values():
            made = walk.made.get(id(node))
            if made is None or made.order > latest:
                continue
            for tensor in saved_by(node):
                change = self._change_of(tensor, made.order)
                if change is not None:
                    original = self._tensors.original(tensor, made.order)
                    event = SavedTensorChanged(
                        step=self._course.steps,
                        backward=walk.backward,
                        tensor=self._facts(tensor),
                        saved_by=made.operation,
                        saved_at=locate(made.place),
                        changed=InPlaceChange(change.operation, locate(change.place), version_of(tensor)),
                        needed_at=here(),
                        silently=True,
                        relative_error=self._error(walk, root, tensor, original),
                    )
                    held = self._parameter_at(tensor)
                    if original is None or held is None:
                        return event
                    return _Swapped(event, weakref.ref(held[1]), original)
        return None

    def _change_of(self, saved: torch.Tensor, order: int) -> HiddenChange | None:
        """The last hidden change to a saved tensor later than `order`, not one to another part of its storage."""
        later = [change for change in self._tensors.hidden_changes if change.order > order]
        region = region_of(saved) if later else None
        if region is None:
            return None
        return next((change for change in reversed(later) if region.overlaps(change.region)), None)

    def _parameter_at(self, saved: torch.Tensor) -> tuple[int, torch.Tensor] | None:
        """The parameter that shares the values of a saved tensor, with its number."""
        return next((held for held in self._parameters.living() if address(held[1]) == address(saved)), None)

    def _facts(self, saved: torch.Tensor) -> TensorFacts:
        """Describe a saved tensor by the living one that shares its values, if there is one."""
        made = self._tensors.sharing(address(saved))
        original = made.reference() if made is not None and made.reference is not None else None
        held = self._parameter_at(saved)
        own_name = variable_name(original) if original is not None else ""
        return describe(
            saved,
            name=own_name if held is None else self._parameters.name_of(held[0]),
            operation=made.created_by if made else "",
            made_at=locate(made.created_at) if made else None,
        )

    def _error(
        self, walk: GraphWalk, root: torch.Tensor, saved: torch.Tensor, original: torch.Tensor | None
    ) -> float | None:
        return None if original is None else relative_error(walk, root, saved, original, hooked=self._hooked)


def _refuses(node: Any) -> bool:
    """Whether a node cannot hand out what it saved because it was changed; those already run say something else."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                getattr(node, name)
            except RuntimeError as error:
                return _COMPLAINT in str(error)
    if is_a(node, BackwardCFunction):
        try:
            _ = node.saved_tensors
        except RuntimeError as error:
            return _COMPLAINT in str(error)
    return False


def _leaves_near(node: Any) -> Iterator[torch.Tensor]:
    """Leaves that are an input of a node, possibly behind a transpose or a view."""
    if node is None:
        return
    for following in (f for f, _ in node.next_functions if f is not None):
        for candidate in (following, *(f for f, _ in following.next_functions if f is not None)):
            leaf = leaf_of(candidate)
            if leaf is not None:
                yield leaf
