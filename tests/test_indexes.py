"""The page of the instruments, and what is listed as guarding a rule."""

from __future__ import annotations

import pytest

from autograd_doctor.rules import rule_called
from tests.harness import ROOT
from tests.instrument_page import COMMAND, PAGE, page
from tests.of import guards, main


def test_the_page_says_what_the_instruments_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"`{COMMAND}` renews it"


def test_everything_that_guards_a_rule_is_listed() -> None:
    rule = rule_called("reductions-mixed")
    assert rule is not None
    found = guards(rule)
    assert found["rule"] == ["autograd_doctor/rules/losses/reductions_mixed.py"]
    assert found["examples"] == ["bad: bad", "good: good, good_policy_and_value"]
    assert "tests/programs/losses/ad628_vae_homework.py" in found["programs that have the fault"]
    assert "tests/programs/losses/late/healthy_spots_vae.py" in found["healthy programs that guard it"]
    assert found["instruments"] == ["autograd_doctor/instruments/losses/term_reductions.py"]
    assert "tests/test_tape.py" not in found["tests"]
    assert all((ROOT / path).is_file() for heading in ("rule", "instruments", "tests") for path in found[heading])


def test_a_rule_that_is_none_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["AD628"]) == 0
    assert "term_reductions" in capsys.readouterr().out
    assert main(["AD000"]) == main([]) == 2
    assert "AD101" in capsys.readouterr().err
