"""The tool that looks for lines which no test holds: it kills what is tested, and prints what is not."""

from __future__ import annotations

import ast
import sys

from tests import mutations

SOURCE = '''
LIMIT = 3

class Shop:
    open = True

    @property
    def is_large(self) -> bool:
        """A number in an annotation or a text is no place to break."""
        return self.size > LIMIT and not self.closed

    def __init__(self, size: "int | 7", closed: bool = False) -> None:
        self.size = size
        self.closed = closed
'''
TESTS = """
from broken_shop import Shop

def test_sizes():
    assert Shop(4).is_large
    assert not Shop(3).is_large
    assert not Shop(4, True).is_large
"""


def test_each_kind_of_place_is_broken():
    made = [(ast.unparse(old), ast.unparse(new)) for old, new in mutations.mutations(ast.parse(SOURCE))]
    assert made == [
        ("3", "4"),
        ("3", "2"),
        ("True", "False"),
        ("return self.size > LIMIT and (not self.closed)", "return None"),
        ("self.size > LIMIT and (not self.closed)", "self.size > LIMIT or not self.closed"),
        ("self.size > LIMIT", "self.size >= LIMIT"),
        ("not self.closed", "self.closed"),
        ("False", "True"),
        ("self.size = size", "pass"),
        ("self.closed = closed", "pass"),
    ]


def test_what_is_tested_is_killed_and_the_rest_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    (tmp_path / "broken_shop.py").write_text(SOURCE)
    (tmp_path / "test_broken_shop.py").write_text(TESTS)
    killed = mutations.check(tmp_path / "broken_shop.py", [tmp_path / "test_broken_shop.py"])
    output = capsys.readouterr().out
    for name in ("broken_shop", "test_broken_shop"):
        sys.modules.pop(name, None)
    assert killed == (9, 10)
    assert "broken_shop.py:5: True  ->  False" in output
    assert "broken_shop.py: 9 of 10 killed" in output
