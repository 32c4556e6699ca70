"""The report as one page for a browser, which loads nothing: findings, curves, gradient flow, modules, the timeline."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograd_doctor.renderers import Options, Part
from autograd_doctor.report import Report
from autograd_doctor.reports import Reports

NAME = "html"
SIGN = re.compile(r'(?s)<!doctype html>.{0,8000}?<meta name="generator" content="autograd_doctor ')


def render(report: Report, options: Options) -> str:
    """The whole page; neither width nor colour matter."""
    # Jinja takes a while to load, which other formats need not wait for.
    from autograd_doctor.renderers.html_.page import page

    return page(report, options.earlier)


def compose(reports: Reports, parts: Sequence[Part], options: Options) -> str:
    """One page with a list of the targets."""
    from autograd_doctor.renderers.html_.page import pages

    return pages(reports, parts)
