"""The line that puts something into a container, seen while it runs."""

from __future__ import annotations

import gc
import inspect
import sys
from collections import OrderedDict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from autograd_doctor.reading import store_watch
from autograd_doctor.reading.holders import Holders
from autograd_doctor.reading.places import own_modules
from autograd_doctor.reading.store_watch import Store, StoreWatch
from autograd_doctor.signals.guard import Guard


def put(where: Any, value: Any) -> None:
    where.append(value)  # in put


def value() -> object:
    return object()


def append(kept: list[Any]) -> None:
    other = [1]
    other.append(2)
    kept.append(value())  # here
    other.append(3)


def add(kept: list[Any]) -> None:
    kept += [value()]  # here


def slice_in(kept: list[Any]) -> None:
    kept[len(kept) :] = [value()]  # here


def by_helper(kept: list[Any]) -> None:
    put(kept, value())


def replace_item(kept: list[Any]) -> None:
    kept[0] = value()  # here


def loop(kept: list[Any]) -> None:
    for number in range(3):
        if number == 2:
            store = kept.append
            store(value())  # here


def marked(function: Callable[..., Any], mark: str = "# here") -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if line.rstrip().endswith(mark))


def watched(*stores: Store) -> StoreWatch:
    watch = StoreWatch(Guard(lambda owner, look, error: None))
    watch.start({"it": stores})
    return watch


@pytest.fixture(autouse=True)
def _without_tracer() -> Any:
    before = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(before)


@pytest.mark.parametrize("function", [append, add, slice_in, replace_item, loop])
@pytest.mark.parametrize("kind", [list, deque])
def test_line_that_stores_in_a_sequence(function: Any, kind: Any) -> None:
    if (function, kind) == (slice_in, deque):
        pytest.skip("a deque has no slices")
    kept = kind([0, 1])
    watch = watched(Store(kept, 0))
    function(kept)
    watch.stop()
    assert watch.found["it"].line == marked(function)
    assert watch.found["it"].column > 1
    assert watch.found["it"].function == function.__name__


def test_line_that_stores_in_a_set() -> None:
    kept: set[object] = {1}
    watch = watched(Store(kept, 0))
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    kept.add(value())
    watch.stop()
    assert watch.found["it"].line == line


def test_line_in_a_helper_is_the_one() -> None:
    kept: list[Any] = []
    watch = watched(Store(kept, 0))
    by_helper(kept)
    watch.stop()
    assert watch.found["it"].line == marked(put, "# in put")


def test_full_deque_and_dicts_and_attributes() -> None:
    full, table, ordered, thing = deque([1, 2], maxlen=2), {1: 2}, OrderedDict(a=1), SimpleNamespace(last=1, count=0)
    watch = StoreWatch(Guard(lambda owner, look, error: None))
    watch.start({
        "full": [Store(full, 0)],
        "table": [Store(table, 1)],
        "ordered": [Store(ordered, "a")],
        "last": [Store(vars(thing), "last", attribute=True)],
    })  # fmt: skip
    thing.count += 1
    first = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    full.append(value())
    table[5] = value()
    ordered["a"] = value()
    thing.last = value()
    watch.stop()
    assert {name: where.line - first for name, where in watch.found.items()} == {
        "full": 1, "table": 2, "ordered": 3, "last": 4,
    }  # fmt: skip


def test_nothing_is_found_where_nothing_is_stored() -> None:
    kept: list[Any] = [1]
    watch = watched(Store(kept, 0))
    append([])
    watch.stop()
    append(kept)
    assert watch.found == {}


def test_who_starts_anew_looks_for_the_new_only() -> None:
    old: list[Any] = []
    new: list[Any] = []
    watch = watched(Store(old, 0))
    assert watch.watching
    watch.start({"new": [Store(new, 0)]})
    old.append(value())
    new.append(value())
    watch.stop()
    assert list(watch.found) == ["new"]
    assert not watch.watching


def test_tracing_ends_and_leaves_no_trace() -> None:
    kept: list[Any] = []
    watch = watched(Store(kept, 0))
    assert sys.gettrace() is not None
    append(kept)
    value()
    assert sys.gettrace() is None  # found: nothing left to look for
    watch.stop()
    frame = inspect.currentframe()
    while frame is not None:
        assert frame.f_trace is None
        frame = frame.f_back


def test_a_watch_gives_up_after_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_watch, "_MOST_CALLS", 3)
    kept: list[Any] = []
    watch = watched(Store(kept, 0))
    for _ in range(4):
        value()
    assert sys.gettrace() is None
    assert not watch.watching
    append(kept)
    watch.stop()
    assert watch.found == {}


def test_a_tracer_of_the_programs_own_stays_alone() -> None:
    seen: list[str] = []

    def tracer(frame: Any, event: str, _: Any) -> Any:
        seen.append(event)

    kept: list[Any] = []
    sys.settrace(tracer)
    watch = watched(Store(kept, 0))
    append(kept)
    watch.stop()
    after = sys.gettrace()
    sys.settrace(None)
    assert after is tracer
    assert watch.found == {}
    assert "call" in seen


def test_a_tracer_that_the_program_sets_meanwhile_stays() -> None:
    def tracer(frame: Any, event: str, _: Any) -> Any:
        return None

    watch = watched(Store([], 0))
    sys.settrace(tracer)
    watch.stop()
    after = sys.gettrace()
    sys.settrace(None)
    assert after is tracer


def test_what_only_the_watch_holds_is_let_go() -> None:
    kept, dropped = [1], [2]
    watch = StoreWatch(Guard(lambda owner, look, error: None))
    watch.start({"kept": [Store(kept, 0)], "dropped": [Store(dropped, 0)]})
    del dropped
    watch.let_go()
    held = list(watch._sought)
    watch.stop()
    assert held == ["kept"]


def test_a_failure_of_ours_does_not_reach_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    watch = watched(Store(kept, 0))
    monkeypatch.setattr(watch, "_compare", lambda: 1 / 0)
    append(kept)
    with pytest.raises(ZeroDivisionError):
        watch.stop()
    assert kept
    assert sys.gettrace() is None


class Evil(list[Any]):
    """Counts whatever of it runs."""

    ran = 0

    def _run(self, *_: Any) -> Any:
        Evil.ran += 1
        return 0

    __len__ = __eq__ = __iter__ = __getitem__ = __bool__ = __repr__ = _run  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]
    __class__ = property(_run)  # type: ignore[assignment]


class Owner:
    ran = 0

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __getattr__(self, name: str) -> Any:
        Owner.ran += 1
        raise AttributeError(name)

    @property
    def __class__(self) -> Any:
        Owner.ran += 1
        return Owner


def test_searching_and_watching_run_nothing_of_the_program() -> None:
    class Key:
        def __repr__(self) -> str:
            raise AssertionError("ran")

    kept = Evil()
    list.append(kept, object())
    owner = Owner({Key(): kept})
    del kept
    gc.collect()
    Evil.ran = Owner.ran = 0
    (found,) = Holders().search([list.__getitem__(next(iter(owner.kept.values())), 0)])
    assert found is not None
    watch = watched(*found.stores)
    list.append(dict.copy(owner.kept).popitem()[1], value())
    watch.stop()
    assert (Evil.ran, Owner.ran) == (0, 0)
    assert found.holder.name == "owner.kept[…]"
    assert "it" in watch.found


def test_lazy_modules_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    class Lazy(ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"asked for {name}")

    def missing(name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    module = ModuleType("polite_and_lazy")
    module.__getattr__ = missing  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy_one", Lazy("lazy_one"))
    monkeypatch.setitem(sys.modules, "polite_and_lazy", module)
    assert module not in list(own_modules())
    assert Holders().of([object()]) == [None]
