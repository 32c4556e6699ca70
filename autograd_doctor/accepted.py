"""What people have accepted: entries of their settings that silence findings, and the findings of a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

BASELINE_VERSION = 1


class Ignored(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Findings that the settings silence: of a rule, and where they are given, of a subject and in a file.

    `code` may be a rule's name or a prefix of codes; `subject` and `path` are patterns with `*`, `?` and `[…]`.
    """

    code: str
    subject: str = ""
    path: str = ""
    reason: str = ""


class Known(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """Findings of a baseline that are alike, and how many: nothing in it changes when lines move or numbers do.

    `path` is relative to the project. `source` is the line, without comments and with single spaces.
    """

    code: str
    path: str = ""
    function: str = ""
    subject: str = ""
    source: str = ""
    count: int = 1


class Baseline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The findings that were there when a baseline was written, by what was checked."""

    schema_version: int = BASELINE_VERSION
    checks: dict[str, list[Known]] = {}


class KnownBefore(NamedTuple):
    """The part of a baseline that is about one target.

    path: the file, as reports name it. root: the folder to which its paths are relative.
    """

    path: str
    root: Path
    findings: Sequence[Known]


class Accepted(NamedTuple):
    """All that silences findings in one check.

    comments: whether those in the source count. ignored: entries of a settings file, each with how messages name its
    place; `folder` is what their paths are relative to. strict: whether what is stale in the baseline fails the check.
    """

    comments: bool = True
    ignored: Sequence[tuple[Ignored, str]] = ()
    folder: Path = Path()
    baseline: KnownBefore | None = None
    strict: bool = False
