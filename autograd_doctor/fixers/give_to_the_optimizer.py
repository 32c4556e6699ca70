"""AD204: give the optimizer the parameters that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing, named_argument
from autograd_doctor.fixing.source_tree import Source, operand

_ROOT = re.compile(r"\*?(\w+)")
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
    lacked = _lacked(case, names)
    given = named_argument(call, "params") or next((a for a in call.args if not a.star and a.keyword is None), None)
    if given is None or not lacked or not all(here.knows(_ROOT.match(each)[1], call) for each in lacked):  # type: ignore[index]
        return
    told = ", ".join(f"`{each.removeprefix('*')}`" for each in lacked)
    changed = Editing(here).replace(given.value, _more(here, given.value, lacked))
    yield case.candidate(f"give the optimizer {told}, too", changed)


def _lacked(case: Case, names: Iterable[str]) -> list[str]:
    """Elements of a list that holds these parameters: of whole modules, where the optimizer lacks all of them, or one
    by one; none if that cannot be said."""
    parameters = case.trace.parameters.values()
    left = {seen.name for seen in parameters if seen.parameter not in case.trace.optimized}
    kinds = {seen.name: seen.kind for seen in parameters}
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
        if whole is None and kinds[name] == "tensor":
            return []
        found[_indexed(name) if whole is None else f"*{_indexed(whole)}.parameters()"] = None
    return list(found)


def _indexed(name: str) -> str:
    """A name as an expression: modules that are numbered are elements."""
    return re.sub(r"\.(\d+)", r"[\1]", name)


def _more(source: Source, given: cst.BaseExpression, lacked: list[str]) -> str:
    """The parameters, or the groups, with further ones."""
    if not isinstance(given, cst.List):
        return f"[*{operand(source.code(given))}, {', '.join(lacked)}]"
    if any(isinstance(each.value, cst.Dict) for each in given.elements):
        inner = lacked[0][1:] if len(lacked) == 1 and lacked[0].startswith("*") else f"[{', '.join(lacked)}]"
        lacked = [f'{{"params": {inner}}}']
    added = cst.ensure_type(cst.parse_expression(f"[{', '.join(lacked)}]"), cst.List).elements
    return source.code(given.with_changes(elements=[*given.elements, *added]))


FIXER = Fixer(codes=("AD204",), candidates=candidates, same_loss=True)
