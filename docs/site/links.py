"""Links of the pages to files of the repository that are no pages: only their words are left on the site.

One that leads nowhere in the repository stays, so that a strict build fails.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?<!!)\[(?P<words>[^\]]+)\]\((?P<target>\.\./[^)#\s]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    folder = (_DOCS / page.file.src_uri).parent

    def words_alone(link: re.Match[str]) -> str:
        target = (folder / link["target"]).resolve()
        is_page = target.is_relative_to(_DOCS)
        return link[0] if is_page or not target.exists() else link["words"]

    return _LINK.sub(words_alone, markdown)
