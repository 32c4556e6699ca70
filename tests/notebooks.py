"""Notebooks for tests: their JSON is written here, so that a test shows nothing but the cells."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from autograd_doctor.plan import Target
from autograd_doctor.report import Report
from tests.harness import check_program, marks


def notebook(
    *cells: str,
    markdown: tuple[str, ...] = (),
    metadata: dict[str, Any] | None = None,
    tags: dict[int, str] | None = None,
) -> str:
    """The JSON of a notebook with these cells of code, after some of markdown; `tags` are by number of the cell."""
    texts = [{"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)} for text in markdown]
    codes = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {"tags": [tags[number]]} if tags and number in tags else {},
            "outputs": [],
            "source": textwrap.dedent(source).strip("\n").splitlines(keepends=True),
        }
        for number, source in enumerate(cells, start=1)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata or {}, "cells": [*texts, *codes]})


def write(folder: Path, *cells: str, name: str = "train.ipynb", **options: Any) -> Path:
    path = folder / name
    path.write_text(notebook(*cells, **options), encoding="utf-8")
    return path


def check_notebook(path: Path, **overrides: Any) -> Report:
    """The report on a notebook, along the path of `doctor check`."""
    return check_program(path, target=Target("notebook", str(path)), **overrides)


def expected(*cells: str) -> list[tuple[str, int, int]]:
    """Codes, cells and lines of the marks of cells as `notebook` takes them."""
    return [
        (code, number, line)
        for number, source in enumerate(cells, start=1)
        for code, line in marks(textwrap.dedent(source).strip("\n"))
    ]


def found(report: Report) -> list[tuple[str, int, int]]:
    return [
        (finding.code, finding.location.cell, finding.location.line)
        for finding in report.findings
        if finding.location is not None
    ]
