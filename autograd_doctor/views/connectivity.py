"""Which parameters a backward should have reached and did not."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_doctor.events import BackwardRan
from autograd_doctor.trace import Trace
from autograd_doctor.views.crash import lacks_graph


def missed_by(trace: Trace, backward: BackwardRan, parameters: Iterable[int]) -> frozenset[int]:
    """Those of the parameters that this backward should have reached and could not, and no other one did."""
    if not lacks_graph(backward):
        return trace.without_gradient & frozenset(parameters)
    wanted = frozenset(parameters) - trace.frozen
    return wanted & trace.optimized if trace.optimized else wanted
