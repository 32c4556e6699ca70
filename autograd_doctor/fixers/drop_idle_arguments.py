"""AD304, AD309: go backward without keeping or building graphs that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from autograd_doctor.fixing.candidate import Candidate, Case, Fixer
from autograd_doctor.fixing.editing import Editing, named_argument

_ARGUMENTS = {"AD304": "retain_graph", "AD309": "create_graph"}


def candidates(case: Case) -> Iterator[Candidate]:
    """Leave the argument out; or keep the graph that is there, instead of building another one.

    What is only sometimes true is left alone: it may be right where it is. So is a graph that was built for weights
    which nothing uses: these are to be used.
    """
    if case.related("the weights are made here") is not None:
        return
    here, keyword = case.here(), _ARGUMENTS[case.finding.code]
    call = here.at(case.finding.location, cst.Call) if here is not None else None
    argument = named_argument(call, keyword) if call is not None else None
    if here is None or call is None or argument is None or here.code(argument.value) != "True":
        return
    yield case.candidate(f"leave `{keyword}=True` out", Editing(here).withhold(call, argument), keeps=True)
    if keyword == "create_graph" and named_argument(call, "retain_graph") is None:
        instead = "give `retain_graph=True` instead of `create_graph=True`"
        yield case.candidate(instead, Editing(here).name_argument(argument, "retain_graph"), keeps=True)


FIXER = Fixer(codes=("AD304", "AD309"), candidates=candidates)
