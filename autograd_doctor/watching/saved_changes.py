"""Tensors saved for backward and changed before it: autograd's complaint traced to its lines, and silent changes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import torch

from autograd_doctor.events import InPlaceChange, SavedTensorChanged, TensorFacts
from autograd_doctor.findings import Location
from autograd_doctor.watching.gradient_error import relative_error
from autograd_doctor.watching.graph_bytes import saved_by
from autograd_doctor.watching.graph_walk import GraphWalk
from autograd_doctor.watching.lineage import Made
from autograd_doctor.watching.naming import variable_name
from autograd_doctor.watching.places import locate
from autograd_doctor.watching.tensor_facts import describe
from autograd_doctor.watching.watch import Watch

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

    def fits(self, made: Made) -> bool:
        return made.changes[-1].version == self.version and sorted(made.shape) == sorted(self.shape)

    def fits_part(self, made: Made) -> bool:
        """Whether it may be a view of that tensor: a view shares the version of the whole."""
        larger = math.prod(made.shape) > math.prod(self.shape)
        return self.of_view and larger and made.changes[-1].version == self.version


def complained_of(watch: Watch, walk: GraphWalk, error: str, needed_at: Location | None) -> SavedTensorChanged | None:
    """Explain autograd's error about an in-place operation; None if the error is another one."""
    if _COMPLAINT not in error:
        return None
    complaint = _Complaint.read(error)
    node = next((node for node in walk.nodes.values() if _refuses(node)), None)
    saver = walk.made.get(id(node)) if node is not None else None
    facts, change = (
        _changed_tensor(watch, walk, complaint, complaint.fits)
        or _parameter_changed(watch, node, complaint)
        or _changed_tensor(watch, walk, complaint, complaint.fits_part)
        or (TensorFacts(shape=complaint.shape, dtype=""), InPlaceChange("", None, complaint.version))
    )
    return SavedTensorChanged(
        step=watch.step,
        backward=walk.backward,
        tensor=facts,
        saved_by=saver.operation if saver else "",
        saved_at=locate(saver.place) if saver else None,
        changed=change,
        needed_at=needed_at,
        silently=False,
    )


def _refuses(node: Any) -> bool:
    """Whether a node cannot hand out what it saved because it was changed; those already run say something else."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                getattr(node, name)
            except RuntimeError as error:
                return _COMPLAINT in str(error)
    if hasattr(node, "saved_tensors"):
        try:
            _ = node.saved_tensors
        except RuntimeError as error:
            return _COMPLAINT in str(error)
    return False


def _changed_tensor(
    watch: Watch, walk: GraphWalk, complaint: _Complaint, fits: Callable[[Made], bool]
) -> tuple[TensorFacts, InPlaceChange] | None:
    """The tensor that fits, alive or still in the graph, and the first change after it was saved."""
    alive = {id(made): (tensor, made) for tensor, made in watch.tensors.living()}
    candidates: list[tuple[torch.Tensor | None, Made]] = list(alive.values())
    candidates += [(None, made) for made in walk.made.values() if made is not None and id(made) not in alive]
    for tensor, made in candidates:
        changes = made.changes if made.changes and fits(made) else []
        change = next((change for change in changes if change.version > complaint.expected), None)
        if change is not None:
            facts = (
                describe(tensor, name=variable_name(tensor), operation=made.born_by, made_at=locate(made.born))
                if tensor is not None
                else TensorFacts(shape=list(made.shape), dtype="", operation=made.born_by, made_at=locate(made.born))
            )
            return facts, InPlaceChange(change.operation, locate(change.place), change.version)
    return None


def _parameter_changed(watch: Watch, node: Any, complaint: _Complaint) -> tuple[TensorFacts, InPlaceChange] | None:
    """A parameter that an optimizer updated between the forward and this backward."""
    for leaf in _leaves_near(node):
        if sorted(leaf.shape) == sorted(complaint.shape):
            number = watch.parameters.get(leaf)
            name = "" if number is None else watch.parameters.name(number)
            return describe(leaf, name=name), InPlaceChange("step", watch.updated_at, complaint.version)
    return None


def _leaves_near(node: Any) -> Iterator[torch.Tensor]:
    """Leaves that are an input of a node, possibly behind a transpose or a view."""
    if node is None:
        return
    for following, _ in node.next_functions:
        for candidate in (following, *(f for f, _ in getattr(following, "next_functions", ()))):
            leaf = getattr(candidate, "variable", None)
            if isinstance(leaf, torch.Tensor):
                yield leaf


def hidden(watch: Watch, walk: GraphWalk, root: torch.Tensor, needed_at: Location | None) -> SavedTensorChanged | None:
    """The first saved tensor whose storage was changed, unseen by autograd, after the node that saved it was made."""
    changes = {change.storage: change for change in watch.tensors.hidden_changes}
    if not changes:
        return None
    for node in walk.nodes.values():
        made = walk.made.get(id(node))
        if made is None or made.order > max(change.order for change in changes.values()):
            continue
        for tensor in saved_by(node):
            change = changes.get(tensor.untyped_storage().data_ptr())
            if change is not None and change.order > made.order:
                original = watch.tensors.original(tensor, made.order)
                return SavedTensorChanged(
                    step=watch.step,
                    backward=walk.backward,
                    tensor=_facts(watch, tensor),
                    saved_by=made.operation,
                    saved_at=locate(made.place),
                    changed=InPlaceChange(change.operation, locate(change.place), tensor._version),
                    needed_at=needed_at,
                    silently=True,
                    relative_error=(
                        None if original is None else relative_error(walk, root, tensor, original, hooked=watch.hooked)
                    ),
                )
    return None


def _facts(watch: Watch, saved: torch.Tensor) -> TensorFacts:
    """Describe a saved tensor by the living one that shares its values, if there is one."""
    made = watch.tensors.sharing(saved.data_ptr())
    original = made.reference() if made is not None and made.reference is not None else None
    number = next((n for n, p in watch.parameters.living() if p.data_ptr() == saved.data_ptr()), None)
    own_name = variable_name(original) if original is not None else ""
    return describe(
        saved,
        name=own_name if number is None else watch.parameters.name(number),
        operation=made.born_by if made else "",
        made_at=locate(made.born) if made else None,
    )
