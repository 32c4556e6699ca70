"""Every rule has a page that says what its file says, and no page is left over."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from autograd_doctor import config
from autograd_doctor.rules import Rule, all_rules
from autograd_doctor.settings import selection
from tests.harness import marks
from tests.rule_pages import COMMAND, FOLDER, pages

RULES = all_rules()
GENERATED = pages(RULES)
_DEMANDED = ["What it does", "Why it is bad", "Evidence", "Example", "Use instead", "When this is fine"]


def test_pages_say_what_the_rule_files_say() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    differing = sorted(name for name in {*written, *GENERATED} if written.get(name) != GENERATED.get(name))
    assert not differing, f"`{COMMAND}` renews them"


def test_every_rule_has_a_page_that_the_list_leads_to() -> None:
    assert set(re.findall(r"\]\((\w+)\.md\)", GENERATED["README.md"])) == {rule.code for rule in RULES}
    assert set(GENERATED) == {"README.md", *(f"{rule.code}.md" for rule in RULES)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page_has_its_sections_and_two_programs_that_stand_alone(rule: Rule) -> None:
    tokens = MarkdownIt().parse(GENERATED[f"{rule.code}.md"])
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert headings[:7] == [f"{rule.name} ({rule.code})", *_DEMANDED]
    assert {"How to silence it", *(["Options"] if rule.tunables else [])} <= set(headings)
    bad, good = (token.content for token in tokens if token.type == "fence")
    assert [code for code, _ in marks(bad)] == [rule.code]
    assert not marks(good)
    assert all("import torch" in ast.unparse(ast.parse(program)) for program in (bad, good))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page_marks_nothing_but_code_and_links(rule: Rule) -> None:
    inline = [token for token in MarkdownIt().parse(GENERATED[f"{rule.code}.md"]) if token.type == "inline"]
    kinds = {child.type for token in inline for child in token.children or ()}
    assert kinds <= {"text", "code_inline", "link_open", "link_close"}
    for link in re.findall(r"\]\(([^)]+)\)", GENERATED[f"{rule.code}.md"]):
        assert link.startswith("https://") or (FOLDER / link).is_file()


def test_settings_that_pages_show_are_understood(tmp_path: Path) -> None:
    for rule in RULES:
        shown = re.findall(r"`((?:rules|ignore): [^`]+)`", GENERATED[f"{rule.code}.md"])
        assert len(shown) == 1 + bool(rule.tunables)
        file = tmp_path / "autograd_doctor.yaml"
        file.write_text("\n".join(shown), encoding="utf-8")
        loaded = config.load({}, folder=tmp_path, environment={}, file=file)
        assert selection.tunables(loaded, RULES)[rule.code] == rule.defaults
        assert [entry.code for entry, _ in loaded.ignored_findings] == [rule.code]
