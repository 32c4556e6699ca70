"""What the shell completes: rules, formats, severities; read off the sources, so that Tab need not load them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

_PACKAGE = Path(__file__).parent.parent
_RULE = re.compile(r'"""(?P<code>AD\d{3})(?: [\w-]+)?: (?P<title>.*?)\.?(?:""")?$', re.MULTILINE)
_FORMAT = re.compile(r'^NAME = "(?P<name>[\w-]+)"$', re.MULTILINE)

Offer = tuple[str, str]
"""A word, and what the shell shows beside it."""


def rules(incomplete: str) -> list[Offer]:
    """Codes, and names once a letter of one is typed that no code begins with; after a comma, the next."""
    typed, comma, last = incomplete.rpartition(",")
    offers = [(f"{typed}{comma}{word}", said) for word, said in _rules() if _begins(word, last)]
    return [offer for offer in offers if last or offer[0].rpartition(",")[2].startswith("AD")]


def formats(incomplete: str) -> list[Offer]:
    """The formats of a report."""
    return _beginning(incomplete, ((name, "") for name in _formats()))


def severities(incomplete: str) -> list[Offer]:
    """What `--fail-on` takes."""
    from autograd_doctor.config import FailOn

    return _beginning(incomplete, ((word, "") for word in get_args(FailOn)))


def colors(incomplete: str) -> list[Offer]:
    """What `--color` takes."""
    from autograd_doctor.config import ColorMode

    return _beginning(incomplete, ((word, "") for word in get_args(ColorMode)))


def services(incomplete: str) -> list[Offer]:
    """The services that `doctor init` writes a workflow for."""
    return _beginning(incomplete, ((word, "") for word in ("github", "gitlab", "none")))


def _beginning(incomplete: str, offers: Iterable[Offer]) -> list[Offer]:
    return [offer for offer in offers if _begins(offer[0], incomplete)]


def _begins(word: str, incomplete: str) -> bool:
    return word.lower().startswith(incomplete.lower())


def _rules() -> Iterator[Offer]:
    """Codes, then names: a rule's file has its name, and begins with its code."""
    paths = (_PACKAGE / "rules").glob("*/*.py")
    files = {path.stem.replace("_", "-"): path.read_text(encoding="utf-8") for path in paths}
    heads = ((name, _RULE.match(text)) for name, text in files.items())
    found = sorted((head["code"], name, head["title"]) for name, head in heads if head)
    yield from ((code, f"{name}: {title}") for code, name, title in found)
    yield from ((name, f"{code}: {title}") for code, name, title in found)


def _formats() -> list[str]:
    folder = _PACKAGE / "renderers"  # where a module is a file, or a folder of its own
    sources = (path.read_text(encoding="utf-8") for path in (*folder.glob("*.py"), *folder.glob("*/__init__.py")))
    return sorted(match["name"] for match in map(_FORMAT.search, sources) if match)
