"""Copies of the program's modules and of what they are called with, and whether a copy may be called.

A copy is called where that can change nothing but the copy: all that the module holds is of kinds that copying leaves
alone, and the program's own code in its forwards changes nothing that lies outside of it.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Collection, Iterator
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy

from autograd_doctor.reading.module_tree import buffers_in, children_of, modules_in, parameters_in
from autograd_doctor.reading.places import is_own
from autograd_doctor.reading.side_effects import first_change
from autograd_doctor.reading.subclasses import bytes_of, dispatches, is_leaf
from autograd_doctor.reading.without_running import attribute, attributes, closure_of, is_a, remade, unwrapped

_MOST_STATE = 64 * 2**20
"""Bytes of parameters and buffers: models that people debug on one machine, copied in a tenth of a second."""
_MOST_INPUT = 16 * 2**20
_MOST_THINGS = 20_000
"""Objects that the modules hold beside those, configurations for instance."""
PARTS = ("_parameters", "_buffers", "_modules")
_TRAINING = ("torch.optim", "torch.amp")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_COPYING = ("__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")
_SHARED = (FunctionType, BuiltinFunctionType, ModuleType, type, torch.dtype, torch.device, torch.Size, weakref.ref)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), *_SHARED)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_VALUES_OF = frozenset(
    {"argparse", "collections", "datetime", "enum", "inspect", "numpy", "pathlib", "types", "typing"}
)
"""Libraries whose objects are values: a copy of one is another one, or the same where it cannot change."""
_TORCHS_VALUES = ("torch.distributions.", "torch.utils.hooks")
_STATELESS = type("_Stateless", (), {}).__basicsize__
"""Bytes of an object of Python that has nothing but attributes."""


def obstacle(module: nn.Module, most_state: int | None = None) -> str:
    """Why no copy of it can be called; "" where nothing stands in the way. most_state: of its tensors, in bytes."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return "other processes take part in its forward"
    tensors = [tensor for _, tensor in (*parameters_in(module), *buffers_in(module))]
    if any(type(tensor) not in (torch.Tensor, nn.Parameter) or tensor.is_meta for tensor in tensors):
        return "its parameters are not plain tensors"
    if sum(bytes_of(tensor) for tensor in tensors) > (most_state or _MOST_STATE):
        return "it is too large to be copied"
    if torch_module._global_forward_hooks or torch_module._global_forward_pre_hooks:
        return "hooks watch every module"
    registered = _registered(module)
    for _, inner in modules_in(module):
        reason = _obstacle_in(inner, registered)
        if reason:
            return reason
    return ""


def side_effects(module: nn.Module) -> str:
    """What a call of it does beside computing its output, in hooks or code of the program's; "" if nothing is known."""
    registered = _registered(module)
    return next((found for _, inner in modules_in(module) if (found := _side_effects_in(inner, registered))), "")


def _registered(module: nn.Module) -> set[int]:
    return {id(inner) for _, inner in modules_in(module)}


def _obstacle_in(module: nn.Module, registered: set[int]) -> str:
    """registered: all modules that are copied with it, wherever else they are held."""
    kind = type(module)
    if is_a(module, torch.jit.ScriptModule) or "_orig_mod" in children_of(module):
        return "it is compiled"
    if not _is_torchs(kind):
        if (odd := next(_odd_things(_held(module), registered), None)) is not None:
            return f"it holds {odd}, and copying that may have side effects"
        if _copies_itself(kind):
            return f"`{kind.__name__}` defines how it is copied"
    return _side_effects_in(module, registered)


def _side_effects_in(module: nn.Module, registered: set[int]) -> str:
    kind, hooks = type(module), _hooks(attributes(module))
    if any(is_a(hook, FunctionType) and is_own(hook.__code__.co_filename) for hook in hooks):
        return "the program has hooks on it"
    if _is_torchs(kind):
        return ""
    changes = [first_change(method) for method in own_methods((kind,), "forward")]
    changes += [first_change(each, _enclosed(each, registered)) for each in _functions_held(module)]
    change = next(filter(None, changes), "")
    return f"its code has side effects: {change}" if change else ""


def _held(module: nn.Module) -> dict[str, Any]:
    """What it holds beside what is registered, and what trains it."""
    left_out = {*PARTS, *_owners(module)}
    return {name: value for name, value in attributes(module).items() if name not in left_out}


def _functions_held(module: nn.Module) -> list[FunctionType]:
    held = _held(module).values()
    methods = [each.__func__ for each in held if type(each) is MethodType and type(each.__func__) is FunctionType]
    return [*(each for each in held if type(each) is FunctionType), *methods]


def _enclosed(function: FunctionType, registered: set[int]) -> dict[str, Any]:
    """The modules among those registered that it takes from the function around it: `lambda x: m.c_proj(m.c_fc(x))`."""
    return {name: value for name, value in closure_of(function).items() if id(value) in registered}


def _owners(module: nn.Module) -> Iterator[str]:
    """Attributes that hold what trains the module: its optimizer, or what holds the module in turn, as the trainer of a
    `LightningModule` does.
    """
    for name, value in attributes(module).items():
        if name in PARTS or is_a(value, (nn.Module, torch.Tensor, *_PLAIN)):
            continue
        if type(value).__module__.startswith(_TRAINING) or any(thing is module for thing in _reached(value)):
            yield name


def _reached(held: object) -> Iterator[Any]:
    """What is held, and what that holds."""
    waiting, met = [held], set[int]()
    while waiting and len(met) < _MOST_THINGS:
        thing = waiting.pop()
        if not is_a(thing, _PLAIN) and id(thing) not in met:
            met.add(id(thing))
            waiting += _inside(thing)[0]
            yield thing


def _hooks(kept: dict[str, Any]) -> Iterator[Any]:
    return (hook for table in _HOOKS for hook in dict.values(kept.get(table) or {}))


def _is_torchs(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "torch"


def _copies_itself(kind: type) -> bool:
    """Whether a class of the program's says what a copy of it is."""
    methods = [vars(base).get(name) for base in kind.__mro__ for name in _COPYING]
    return any(type(each) is FunctionType and is_own(each.__code__.co_filename) for each in methods)


def _odd_things(held: object, registered: set[int]) -> Iterator[str]:
    """Kinds of things among those that are held that copying might not leave alone."""
    waiting, met = [held], set(registered)
    while waiting:
        thing = waiting.pop()
        if is_a(thing, _PLAIN) or id(thing) in met:
            continue
        met.add(id(thing))
        if len(met) > _MOST_THINGS + len(registered):
            yield "very many things"
        inside, odd = _inside_method(thing, registered) if is_a(thing, MethodType) else _inside(thing)
        if odd:
            yield odd
        waiting += inside


def _inside_method(method: Any, registered: set[int]) -> tuple[list[Any], str]:
    """Of one that is bound to a part of the module, a copy is bound to the copy of that part."""
    function = method.__func__
    if type(function) is FunctionType and _enclosed(function, registered):
        return [], f"`{function.__name__}`, which goes back to the module"
    return [method.__self__], ""


def _inside(thing: Any) -> tuple[list[Any], str]:
    """What a thing holds, and what is odd about it."""
    kind = type(thing)
    if is_a(thing, nn.Module):
        return [], "modules that it does not register"
    if is_a(thing, torch.Tensor):
        return [], "" if kind in (torch.Tensor, nn.Parameter) and is_leaf(thing) else "a tensor with a graph"
    if is_a(thing, dict):
        return list(dict.values(thing)), ""
    if kind is partial:
        return [thing.func, *thing.args, *thing.keywords.values()], ""
    if kind in _CONTAINERS or (is_a(thing, tuple) and "_fields" in vars(kind)):
        return list(tuple.__iter__(thing) if is_a(thing, tuple) else thing), ""
    if kind.__module__.partition(".")[0] in _VALUES_OF:
        return list(attributes(thing).values()), ""
    is_empty = not attributes(thing) and not _has_only_attributes(kind)
    is_odd = is_empty or _copies_itself(kind) or (_is_torchs(kind) and not kind.__module__.startswith(_TORCHS_VALUES))
    return list(attributes(thing).values()), f"a `{kind.__name__}`" if is_odd else ""


def _has_only_attributes(kind: type) -> bool:
    """Whether an object of this class has no room for anything else, as one of Python has not."""
    return kind.__basicsize__ == _STATELESS and kind.__dictoffset__ != 0


def own_methods(kinds: Collection[type], *names: str) -> Iterator[FunctionType]:
    """The program's own methods of these names, and those of these classes that they may call on modules, as the names
    in their code tell."""
    waiting, met = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in met:
            continue
        met.add(name)
        for kind in kinds:
            method = unwrapped(attribute(kind, name))
            if is_a(method, property):
                method = method.fget  # type: ignore[attr-defined]
            if isinstance(method, FunctionType) and is_own(method.__code__.co_filename):
                yield method
                waiting += method.__code__.co_names


def copy_of(module: nn.Module, *, as_it_is: bool = False) -> nn.Module:
    """A copy in evaluation mode, without what holds the module, which is to see nothing of the calls of a copy.

    as_it_is: in the mode in which the module is.

    A weight that a hook of torch computes, as the old `spectral_norm` does, has a graph; the copy computes its own.
    """
    parts = [part for _, part in modules_in(module)]
    known: dict[int, Any] = {id(attributes(part)[name]): None for part in parts for name in _owners(part)}
    computed = (each for part in parts for each in attributes(part).values() if is_a(each, torch.Tensor))
    known |= {id(each): each.detach().clone() for each in computed if not is_leaf(each)}
    registered = _registered(module)
    enclosing = [each for part in parts for each in _functions_held(part) if _enclosed(each, registered)]
    known |= {id(each): _with_cells_of_its_own(each) for each in enclosing}
    copied = copy.deepcopy(module, known)
    for each in enclosing:
        _enclose_copies(each, known[id(each)], registered, known)
    for _, inner in modules_in(copied) if not as_it_is else ():
        attributes(inner)["training"] = False
    return copied


def _with_cells_of_its_own(function: FunctionType) -> FunctionType:
    cells = tuple(CellType() for _ in function.__closure__ or ())
    copied = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__dict__.update(function.__dict__)
    return copied


def _enclose_copies(function: FunctionType, copied: FunctionType, registered: set[int], known: dict[int, Any]) -> None:
    """A module of which no copy is known stays out, so that a call of the function fails."""
    values = closure_of(function)
    for name, cell in zip(function.__code__.co_freevars, copied.__closure__ or (), strict=True):
        if name in values and (id(values[name]) not in registered or id(values[name]) in known):
            cell.cell_contents = known.get(id(values[name]), values[name])


def copies_of(values: Any, most_input: int | None = None, *, records: bool = False) -> Any:
    """The arguments of a call with copies of their tensors, None if something is among them that is not copied.

    most_input: bytes of these tensors. records: dataclasses and named tuples are copied as well.
    """
    budget = [most_input or _MOST_INPUT]
    try:
        return _copied(values, budget, records=records)
    except TypeError:
        return None


def _copied(value: Any, budget: list[int], *, records: bool) -> Any:
    """Tensors of a class of their own that compute as others do, as images of fastai or MONAI, are copied as plain."""
    if is_a(value, torch.Tensor) and not dispatches(value) and not is_lazy(value):
        with torch._C.DisableTorchFunctionSubclass():
            if value.layout is not torch.strided or value.is_nested:
                raise TypeError
            budget[0] -= value.nbytes
            if budget[0] < 0:
                raise TypeError
            return value.detach().as_subclass(torch.Tensor).clone()
    if type(value) in (list, tuple):
        return type(value)(_copied(each, budget, records=records) for each in value)
    if type(value) is dict:
        return {key: _copied(each, budget, records=records) for key, each in value.items()}
    if is_a(value, _PLAIN):
        return value
    record = remade(value, partial(_copied, budget=budget, records=True)) if records else None
    if record is None:
        raise TypeError
    return record
