"""The report as one page for a browser, which loads nothing: findings, curves, gradient flow, modules, the timeline."""

from __future__ import annotations

import re

from autograd_doctor.renderers import Options
from autograd_doctor.report import Report

NAME = "html"
SIGN = re.compile(r'(?s)<!doctype html>.{0,8000}?<meta name="generator" content="autograd_doctor ')


def render(report: Report, options: Options) -> str:
    """The whole page; neither width nor colour matter."""
    # Jinja takes a while to load, which other formats need not wait for.
    from autograd_doctor.renderers.html_.page import page

    return page(report, options.earlier)
