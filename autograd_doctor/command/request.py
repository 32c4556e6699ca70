"""What is asked of a check, and the settings in force for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from autograd_doctor import config
from autograd_doctor.command import workflow
from autograd_doctor.config import Invocation, Loaded, Section
from autograd_doctor.mistakes import Mistake
from autograd_doctor.ranks import this_rank


class Request(NamedTuple):
    """What is asked for: a target, settings that `options` override, and what is about this call alone.

    caller: the function that asks instead of the command line; it gets a report, and nothing is printed. section: the
    entry of the settings that names the target, if it was not typed. label: what the target is called there, if the
    person has named it. is_one_of_several: others write the report. profiles: where time and memory go is asked for,
    not what is wrong. fixes: changes are to be tried, so that runs are compared.
    """

    name: str
    arguments: Sequence[str] = ()
    is_module: bool = False
    options: Mapping[str, Any] = {}
    asked: Invocation = Invocation()
    sets: Sequence[str] = ()
    caller: str = ""
    section: Section | None = None
    label: str = ""
    is_one_of_several: bool = False
    profiles: bool = False
    fixes: bool = False

    @property
    def config(self) -> Path | None:
        """The settings file that is named."""
        return Path(self.asked.config) if self.asked.config else None

    @property
    def save_trace(self) -> Path | None:
        """Where to keep the trace."""
        return Path(self.asked.save_trace) if self.asked.save_trace else None

    @property
    def rank_reports(self) -> Path | None:
        """Where each rank leaves its trace."""
        return Path(self.asked.rank_reports) if self.asked.rank_reports else None

    @property
    def output_file(self) -> Path | None:
        """Where the report goes."""
        return Path(self.asked.output_file) if self.asked.output_file else None


def load_settings(request: Request) -> Loaded:
    """The settings for the folder of the script, or the working directory for a module."""
    return config.load(
        request.options,
        folder=folder_of(request),
        environment=os.environ,
        file=request.config,
        isolated=request.asked.isolated,
        caller=request.caller,
        section=request.section,
    )


def folder_of(request: Request) -> Path:
    """Where settings and baselines of the target are looked for."""
    path, here = Path(request.name), working_folder()
    folder = here if request.is_module else path if path.is_dir() else path.parent
    return folder if folder.is_dir() else here


def working_folder() -> Path:
    """Raises `Mistake` where it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Mistake("the working folder no longer exists") from None


def note(request: Request, said: str) -> None:
    """Tell the person, on standard error; one rank does, and no caller in Python is told."""
    if not request.caller and not this_rank(os.environ).rank:
        print(f"note: {said}", file=sys.stderr)


def only_output(request: Request) -> AbstractContextManager[None]:
    """What the child prints is no command to GitHub; to say so is printing, too."""
    return nullcontext() if request.caller else workflow.only_output()
