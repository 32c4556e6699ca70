"""AD204: give the optimizer the parameters that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing, named_argument
from autograd_doctor.fixing.source_tree import Source, operand

_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


def candidates(case: Case) -> Iterator[Candidate]:
    """Those of whole modules, by the names that they have where it is built.

    Where they may be meant to stay as they are, a person has to decide.
    """
    here = case.here()
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    names = case.finding.evidence.get("not_optimized")
    if here is None or call is None or not isinstance(names, list) or case.finding.severity == "info":
        return
    modules = _modules(case, names)
    given = named_argument(call, "params") or next(
        (arg for arg in call.args if not arg.star and arg.keyword is None), None
    )
    if (
        given is None
        or not modules
        or not all(here.knows(name.partition(".")[0].partition("[")[0], call) for name in modules)
    ):
        return
    told = ", ".join(f"`{name}.parameters()`" for name in modules)
    yield case.candidate(
        f"give the optimizer {told}, too", Editing(here).replace(given.value, _more(here, given.value, modules))
    )


def _modules(case: Case, names: Iterable[str]) -> list[str]:
    """Expressions for the largest modules that hold these parameters and no others; none if that cannot be said."""
    parameters = case.trace.parameters.values()
    left = {seen.name for seen in parameters if seen.parameter not in case.trace.optimized}
    found: dict[str, None] = {}
    for name in names:
        if not _NAME.fullmatch(name):
            return []
        parts = name.split(".")
        prefixes = (".".join(parts[:end]) for end in range(1, len(parts)))
        held = (
            prefix for prefix in prefixes if {s.name for s in parameters if s.name.startswith(f"{prefix}.")} <= left
        )
        whole = next(held, None)
        if whole is None:
            return []
        found[re.sub(r"\.(\d+)", r"[\1]", whole)] = None
    return list(found)


def _more(source: Source, given: cst.BaseExpression, modules: list[str]) -> str:
    """The parameters, or the groups, with further ones."""
    groups = isinstance(given, cst.List) and any(isinstance(each.value, cst.Dict) for each in given.elements)
    new = [f'{{"params": {name}.parameters()}}' if groups else f"*{name}.parameters()" for name in modules]
    if not isinstance(given, cst.List):
        return f"[*{operand(source.code(given))}, {', '.join(new)}]"
    elements = [cst.ensure_type(cst.parse_expression(f"[{each}]"), cst.List).elements[0] for each in new]
    before = [each if each.comma else each.with_changes(comma=cst.MaybeSentinel.DEFAULT) for each in given.elements]
    return source.code(given.with_changes(elements=[*before, *elements]))


FIXER = Fixer(codes=("AD204",), candidates=candidates)
