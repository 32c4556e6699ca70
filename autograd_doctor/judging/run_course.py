"""The course of the run, and its profile, for the report."""

from __future__ import annotations

from autograd_doctor.findings import Location
from autograd_doctor.judging.presentation import Presenter
from autograd_doctor.profiling import Profile
from autograd_doctor.run_course import Course
from autograd_doctor.trace import Trace
from autograd_doctor.views import iterations
from autograd_doctor.views.flow import flow
from autograd_doctor.views.module_tree import module_rows
from autograd_doctor.views.series import series
from autograd_doctor.views.timeline import timeline


def profile(trace: Trace, presenter: Presenter) -> Profile | None:
    """Where the time and the memory of an iteration went, if that was measured."""
    return iterations.profile(trace, lambda location: _line(location, presenter))


def course(trace: Trace, presenter: Presenter) -> Course:
    """Everything that is drawn of a run, with places named as in the findings."""

    def line(location: Location | None) -> str:
        return _line(location, presenter)

    return Course(
        steps=trace.steps_taken,
        series=series(trace, line),
        flow=flow(trace),
        modules=module_rows(trace),
        timeline=timeline(trace, line),
    )


def _line(location: Location | None, presenter: Presenter) -> str:
    return presenter.line(location.path, location.line) if location is not None else "a line that is not known"
