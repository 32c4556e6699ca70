"""Ranks that wait for one another (AD906): what each had called tells which went its own way, if any did."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from autograd_doctor.events.event import Event
from autograd_doctor.events.replicas import CollectiveCalled
from autograd_doctor.events.run import ProgramRaised, RecordingStarted, RunEnded, StackFrame
from autograd_doctor.findings import Finding, Location
from autograd_doctor.judging.standing import standing
from autograd_doctor.members import Member
from autograd_doctor.plan import Outcome
from autograd_doctor.rules.ranks.rank_hangs import RULE
from autograd_doctor.trace import Ranked, Ranks, Standing, Trace

BACKWARD, SUM, OTHER = (Location(path="train.py", line=line) for line in (10, 20, 30))
WAITS = Standing(step=9, how="waits", location=BACKWARD)


def called(step: int, at: Location = SUM, name: str = "all_reduce") -> CollectiveCalled:
    return CollectiveCalled(step=step, collective=name, location=at)


def found(*ranks: Sequence[CollectiveCalled | Standing]) -> list[Finding]:
    """What is found of ranks, of each of which calls are given, and last where it stood."""
    ranked = []
    for number, (*calls, stood) in enumerate(ranks):
        assert isinstance(stood, Standing)
        ranked.append(Ranked(number, Trace.of_events(*(call for call in calls if isinstance(call, Event))), stood))
    assert RULE.examine_ranks is not None
    return list(RULE.examine_ranks(Ranks(tuple(ranked)), RULE.defaults))


def test_a_call_that_the_other_does_not_make_is_the_fault() -> None:
    [finding] = found([called(4), WAITS], [called(4), called(9, OTHER), WAITS])
    assert (finding.location, finding.ranks) == (OTHER, (0, 1))
    assert finding.message.startswith("rank 1 calls `all_reduce` after 9 steps while rank 0 goes on to step 10")
    assert [related.location for related in finding.related] == [BACKWARD]


def test_the_earlier_of_two_calls_that_differ_is_the_fault() -> None:
    [finding] = found([called(6, OTHER), WAITS], [called(5), WAITS])
    assert finding.location == SUM
    assert "rank 1 calls `all_reduce` after 5 steps while rank 0 calls `all_reduce`" in finding.message


def test_the_same_calls_at_lines_of_their_own_are_no_difference() -> None:
    assert found([called(9, SUM), WAITS], [called(9, OTHER), WAITS]) == []


def test_ranks_that_all_wait_at_the_same_place_wait_for_something_else() -> None:
    assert found([WAITS], [WAITS]) == []


def test_backwards_of_different_steps_do_not_meet() -> None:
    [finding] = found([WAITS], [Standing(step=8, how="waits", location=BACKWARD)])
    assert finding.message == "rank 1 waits in step 9 while rank 0 waits in step 10"


@pytest.mark.parametrize("how", ["works", "broke off"])
def test_nothing_is_said_where_one_works_or_died_of_something_else(how: str) -> None:
    assert found([WAITS], [Standing(step=3, how=how)]) == []  # type: ignore[arg-type]


def test_a_rank_that_had_ended_is_waited_for_in_vain() -> None:
    lost = Standing(step=9, how="lost", location=BACKWARD)
    [finding] = found([lost], [Standing(step=8, how="ended")])
    assert finding.message == "rank 0 waits in step 10 for rank 1, which came to its end after 8 steps"


def test_a_rank_that_went_further_before_it_ended_is_not_why_another_was_lost() -> None:
    lost = Standing(step=9, how="lost", location=BACKWARD)
    assert found([lost], [Standing(step=20, how="ended")]) == []


def test_what_does_not_fit_aborts_and_needs_a_call_to_blame() -> None:
    aborted, lost = Standing(step=9, how="aborted"), Standing(step=9, how="lost", location=BACKWARD)
    assert found([aborted], [lost]) == []
    [finding] = found([called(9), aborted], [lost])
    assert finding.location == SUM


def test_what_to_do_fits_what_went_apart() -> None:
    def said(*ranks: Sequence[CollectiveCalled | Standing]) -> str:
        [finding] = found(*ranks)
        return finding.help

    alone = said([called(4), WAITS], [called(4), called(9, OTHER), WAITS])
    assert "because a condition holds for it alone" in alone
    assert "as many batches" in alone
    assert "in the same order" in said([called(9, name="barrier"), WAITS], [called(9), WAITS])
    for skipped in (
        said([called(6), WAITS], [called(5), WAITS]),
        said([WAITS], [Standing(step=8, how="waits", location=BACKWARD)]),
    ):
        assert skipped.startswith("let every rank run each backward and take each step")
    lost = Standing(step=9, how="lost", location=BACKWARD)
    assert said([lost], [Standing(step=8, how="ended")]).startswith("give every rank as many batches")


# ------------------------------------------------------------------------------------------------- how each is known


def member(*events: RunEnded | ProgramRaised, stacks: str = "", signal: int | None = None) -> Member:
    trace = Trace.of_events(RecordingStarted(tool="1", began=100.0), *events)
    return Member(0, 2, trace, Outcome(exit_code=None, signal=signal), stacks)


FRAMES = """Thread 0x1 (most recent call first):
  File "/lib/python3.11/threading.py", line 5 in run

Thread 0x2 (most recent call first):
  File "/v/site-packages/torch/{inner}", line 979 in call
  File "/home/me/train.py", line 10 in main
"""


@pytest.mark.parametrize(
    ("inner", "how"),
    [("distributed/distributed_c10d.py", "waits"), ("autograd/graph.py", "waits"), ("utils/data/fetch.py", "works")],
)
def test_a_rank_waits_if_torch_is_in_a_collective_or_a_backward(inner: str, how: str) -> None:
    told = standing(member(stacks=FRAMES.format(inner=inner)))
    assert (told.how, told.location) == (how, Location(path="/home/me/train.py", line=10, function="main"))


def test_a_rank_that_was_ended_by_others_is_known_by_the_words_of_its_transport() -> None:
    at = StackFrame(location=BACKWARD, own=True)
    closed = ProgramRaised(kind="RuntimeError", message="Connection closed by peer [::1]:3", frames=[at], time=3.0)
    told = standing(member(closed, RunEnded(reason="raised", exit_code=1)))
    assert (told.how, told.location) == ("lost", BACKWARD)


def test_a_rank_that_ended_or_was_aborted() -> None:
    assert standing(member(RunEnded(reason="finished", exit_code=0, time=2.0))).how == "ended"
    assert standing(member(signal=6)).how == "aborted"
    assert standing(member(signal=9)).how == "broke off"
