"""Rules that compare ranks, on traces made by hand: what is one model, what differs, and what was meant to be alike."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from autograd_doctor.events.replicas import (
    BatchTrained,
    BuffersEvaluated,
    GradientsChangedAfterStep,
    RatesSet,
    ReplicasMet,
    ReplicasRead,
    StateTaken,
)
from autograd_doctor.events.run import RunEnded
from autograd_doctor.findings import Finding, Location
from autograd_doctor.rules.ranks import (
    gradients_not_synchronised,
    rank_decides_alone,
    ranks_see_same_data,
    replicas_diverge,
)
from autograd_doctor.trace import Ranked, Ranks, Trace

NAMES = ["0.weight", "0.bias", "2.weight", "2.bias"]
OWN, ALL = "own", "all"
"""Gradients of a rank's own, and those of all."""


def met(model: str = "model", ranks: Sequence[int] = (0, 1), number: int = 0, **told: Any) -> ReplicasMet:
    sizes = [4] * len(NAMES)
    return ReplicasMet(replicas=number, model=model, names=NAMES, sizes=sizes, ranks=list(ranks), **told)


def read(rank: int, taken: int, values: Sequence[str], gradients: Sequence[str] = (), **told: Any) -> ReplicasRead:
    """What differs between ranks is "own"; anything else is what all have."""
    bits, sizes = _seen(rank, taken, values)
    gradient_bits, gradient_sizes = _seen(rank, taken, gradients)
    return ReplicasRead(
        **{"replicas": 0, **told},
        taken=taken,
        bits=bits,
        norms=sizes,
        gradient_bits=gradient_bits,
        gradient_norms=gradient_sizes,
    )


def _seen(rank: int, taken: int, values: Sequence[str]) -> tuple[list[int | None], list[float]]:
    numbers = [100 * taken + 10 * place + (rank if each == OWN else 5) for place, each in enumerate(values)]
    return [*numbers], [1.0 + number for number in numbers]


def found(rule: object, *ranks: Sequence[object], ended: bool = True) -> list[Finding]:
    end = [RunEnded(reason="finished" if ended else "steps")]
    traces = [Ranked(rank, Trace((*happened, *end))) for rank, happened in enumerate(ranks)]
    return list(rule.RULE.examine_ranks(Ranks(tuple(traces)), rule.RULE.defaults))  # type: ignore[attr-defined]


def both(
    rule: object, *readings: tuple[int, Sequence[str], Sequence[str]], model: str = "model", **told: Any
) -> list[str]:
    """Severities of what is found where two ranks have made these readings."""
    ranks = [[met(model), *(read(rank, *each, **told) for each in readings)] for rank in range(2)]
    return [finding.severity for finding in found(rule, *ranks)]


SAME = [ALL] * 4
APART = [OWN] * 4
WITHOUT_BIAS, WITHOUT_HEAD = [ALL, ALL, ALL, OWN], [ALL, ALL, OWN, OWN]


@pytest.mark.parametrize(
    ("gradients", "model", "told", "severities"),
    [
        (APART, "model", {}, ["error"]),
        (SAME, "model", {}, []),
        (APART, "model", {"hooked": True}, []),
        (APART, "model", {"sent_last": False, "backwards": 1}, []),
        (APART, "model", {"sent_last": False, "backwards": 4}, ["error"]),
        (APART, "", {}, []),
        (WITHOUT_BIAS, "", {}, ["error"]),
        (WITHOUT_HEAD, "", {}, ["warning"]),
    ],
)
def test_what_shows_that_ranks_were_to_step_alike(
    gradients: Sequence[str], model: str, told: dict[str, Any], severities: list[str]
) -> None:
    later = [(taken, gradients, gradients) for taken in (1, 2, 4)]
    seen = [(0, SAME, gradients), *later]
    assert both(gradients_not_synchronised, *seen, model=model, **told) == severities
    assert both(replicas_diverge, *seen, model=model, **told) == []


def test_gradients_that_are_equal_in_some_steps_were_to_be_so_in_all_unless_models_are_averaged_later() -> None:
    seen = [(0, SAME, APART), (1, APART, SAME), (2, APART, SAME), (4, APART, APART), (8, APART, APART)]
    ranks = [[met(""), *(read(rank, *each) for each in seen)] for rank in range(2)]
    assert [each.severity for each in found(gradients_not_synchronised, *ranks)] == ["error"]
    assert [each.severity for each in found(gradients_not_synchronised, *ranks, ended=False)] == ["warning"]


def test_gradients_of_equal_models_on_the_same_data_are_no_sign_of_anything() -> None:
    seen = [(0, SAME, SAME), (1, APART, APART), (2, APART, APART)]
    assert both(gradients_not_synchronised, *seen, model="") == []


def test_models_that_become_equal_again_or_never_were_are_left_alone() -> None:
    local = [(0, SAME, APART), (1, APART, APART), (7, SAME, APART), (8, APART, APART)]
    own = [(taken, APART, APART) for taken in (0, 1, 2)]
    for rule in (gradients_not_synchronised, replicas_diverge):
        assert both(rule, *local) == []
    assert both(gradients_not_synchronised, *own) == []
    assert both(replicas_diverge, *own) == ["error"]


def test_gradients_of_all_that_each_rank_divides_by_a_number_of_its_own() -> None:
    def norms(rank: int, taken: int, of_bias: float) -> list[float]:
        return [size * (2.0, 3.0)[rank] for size in (1.0 + taken, 5.0, 0.5, of_bias)]

    for of_bias in (0.25, 0.0):
        ranks = []
        for rank in range(2):
            reads = [read(rank, n, APART if n else SAME, APART) for n in (0, 1, 2)]
            reads = [replace(each, gradient_norms=norms(rank, each.taken, of_bias)) for each in reads]
            ranks.append([met(""), *reads])
        assert [each.severity for each in found(gradients_not_synchronised, *ranks)] == ["error"]
    skewed = [[*ranks[0]], [*ranks[1][:-1], replace(reads[-1], gradient_norms=[9.0, 15.0, 1.4, 0.0])]]
    assert found(gradients_not_synchronised, *skewed) == []


def test_what_is_sent_after_the_step_is_late() -> None:
    ranks = []
    for rank in range(2):
        bits, sizes = _seen(9, 3, SAME)
        late = GradientsChangedAfterStep(replicas=0, taken=1, gradient_bits=bits, gradient_norms=sizes)
        ranks.append([met(""), *(read(rank, n, SAME if n == 0 else APART, APART) for n in (0, 1, 2)), late])
    (finding,) = found(gradients_not_synchronised, *ranks)
    assert "only after the step" in finding.message


def test_models_are_compared_in_their_group_and_under_their_order() -> None:
    """Two pairs of ranks, with two models of one name on each: the second pair has a sick second one."""
    ranks = []
    for rank in range(4):
        group = (0, 1) if rank < 2 else (2, 3)
        happened: list[object] = []
        for number in range(2):
            values = APART if rank > 1 and number == 1 else SAME
            happened.append(met(ranks=group, number=number))
            happened += (read(rank, n, values, SAME, replicas=number) for n in (0, 1, 2))
        ranks.append(happened)
    (finding,) = found(replicas_diverge, *ranks)
    assert finding.ranks == (2, 3)


def test_nothing_is_said_of_values_that_are_not_finite_nor_of_a_rank_that_did_not_come_so_far() -> None:
    ranks = []
    for rank in range(2):
        reads = [read(rank, n, SAME, SAME) for n in (0, 1)]
        spoiled = ReplicasRead(replicas=0, taken=2, bits=[rank] * 4, norms=[float("nan")] * 4)
        more = [read(rank, n, APART, SAME) for n in (4, 8)] if rank else []
        ranks.append([met(), *reads, spoiled, *more])
    assert found(replicas_diverge, *ranks) == []


def test_what_nothing_trains_is_a_warning() -> None:
    ranks = [[met(trained=False), *(read(rank, n, APART) for n in (0, 1))] for rank in range(2)]
    (finding,) = found(replicas_diverge, *ranks)
    assert finding.severity == "warning"


def test_many_ranks_are_compared_in_no_time() -> None:
    group = tuple(range(1024))
    ranks = [[met(ranks=group), *(read(rank, n, APART if n else SAME, APART) for n in range(8))] for rank in group]
    began = time.process_time()
    assert len(found(gradients_not_synchronised, *ranks)) == 1
    assert time.process_time() - began < 5


def test_what_explains_gradients_that_a_wrapper_did_not_make_equal() -> None:
    """It was called; but one rank has left out a step, or the parameters came when it had been made."""

    def said(*, ran: Sequence[int] = (0, 0), unsent: Sequence[int] = ()) -> str:
        ranks = [
            [
                met(unsent=list(unsent)),
                *(
                    read(rank, taken, values, APART, ran=ran[rank])
                    for taken, values in ((0, SAME), (1, APART), (2, APART))
                ),
            ]
            for rank in range(2)
        ]
        [finding] = found(gradients_not_synchronised, *ranks)
        return finding.help

    assert "call the wrapper and not `.module`" in said()
    assert "let all ranks take a step or none" in said(ran=(3, 4))
    assert "wrap it anew" in said(unsent=range(4))
    assert "wrap it anew" not in said(unsent=range(3))


# ---------------------------------------------------------------------------------------------------- learning rates


def stepped_with(*rates: tuple[int, float], line: int) -> list[RatesSet]:
    at = Location(path="train.py", line=line)
    return [RatesSet(replicas=0, taken=taken, rates=[rate], location=at) for taken, rate in rates]


def rates(*ranks: Sequence[RatesSet], model: str = "model", gradients: Sequence[str] = SAME) -> list[Finding]:
    seen = [(0, SAME, gradients), (1, APART, gradients), (2, APART, gradients)]
    of_all = [[met(model), *(read(rank, *each) for each in seen), *changes] for rank, changes in enumerate(ranks)]
    return found(rank_decides_alone, *of_all)


def test_a_rate_that_one_rank_lowers_alone_is_its_decision() -> None:
    [finding] = rates(stepped_with((0, 0.1), line=1), stepped_with((0, 0.1), (5, 0.01), line=2))
    assert finding.message.startswith("rank 1 steps `model` with a rate of 0.01 from step 6 on, and rank 0 with 0.1")
    assert finding.location == Location(path="train.py", line=2)


def test_ranks_that_follow_one_schedule_decide_together() -> None:
    assert rates(stepped_with((0, 0.1), (5, 0.01), line=1), stepped_with((0, 0.1), (5, 0.01), line=2)) == []


@pytest.mark.parametrize(("model", "gradients", "count"), [("", SAME, 1), ("", APART, 0), ("model", APART, 0)])
def test_rates_are_to_be_the_same_where_gradients_are(model: str, gradients: Sequence[str], count: int) -> None:
    """Each rank may search for the best rate of a model of its own; and a wrapper that is bypassed is another fault."""
    changes = stepped_with((0, 0.1), line=1), stepped_with((0, 0.2), line=1)
    assert len(rates(*changes, model=model, gradients=gradients)) == count


# -------------------------------------------------------------------------------------------- states that ranks keep


WHERE = Location("train.py", 9)


@pytest.mark.parametrize(
    ("first", "second", "sick"),
    [
        ([1, 2, 6, 14], [1, 12, 15], True),
        ([1, 2, 6, 14], [1, 2, 6, 14], False),
        ([2, 6, 14], [3, 7, 15], False),
        ([1, 4, 12, 20], [1, 8, 16], False),
        ([1, 2, 6, 14], [], False),
        ([1, 2, 6, 14, 30, 40], [1, 2, 6, 14], False),
    ],
    ids=["by their own", "alike", "never together", "in turn", "one rank alone", "stopped before the other"],
)
def test_states_that_each_rank_keeps_by_itself(first: list[int], second: list[int], sick: bool) -> None:
    readings = [read(0, taken, SAME, SAME) for taken in (0, 4, 8, 16, 24)]
    ranks = [
        [met(), *readings, *(StateTaken(replicas=0, taken=each, location=WHERE) for each in taken)]
        for taken in (first, second)
    ]
    told = [(finding.severity, finding.location) for finding in found(rank_decides_alone, *ranks)]
    assert told == ([("warning", WHERE)] if sick else [])


@pytest.mark.parametrize(
    ("values", "buffers", "sick"),
    [
        (SAME, [OWN, OWN], True),
        (SAME, [OWN, ALL], False),
        (SAME, [ALL, ALL], False),
        (APART, [OWN, OWN], False),
    ],
    ids=["apart", "brought together", "equal", "models apart"],
)
def test_buffers_of_one_model(values: Sequence[str], buffers: Sequence[str], sick: bool) -> None:
    ranks = [
        [
            met(""),
            *(read(rank, taken, values) for taken in (0, 4, 8)),
            *(evaluated(rank, 4 * number, each) for number, each in enumerate(buffers, 1)),
        ]
        for rank in range(2)
    ]
    assert [finding.severity for finding in found(replicas_diverge, *ranks)] == (["info"] if sick else [])


def evaluated(rank: int, taken: int, value: str) -> BuffersEvaluated:
    bits, sizes = _seen(rank, taken, [value])
    return BuffersEvaluated(
        replicas=0, taken=taken, names=["model.1.running_mean"], bits=bits, norms=sizes, location=WHERE
    )


def test_rates_that_differ_by_rounding_are_the_same() -> None:
    assert rates(stepped_with((0, 0.1), line=1), stepped_with((0, 0.1000000015), line=1)) == []


def test_replicas_that_are_the_same_after_other_rates_were_made_so() -> None:
    changes = stepped_with((0, 0.1), line=1), stepped_with((0, 0.2), line=1)
    of_all = [[met(), *(read(rank, n, SAME, SAME) for n in (0, 1, 2)), *each] for rank, each in enumerate(changes)]
    assert found(rank_decides_alone, *of_all) == []


# --------------------------------------------------------------------------------------------------------------- data


def trained_on(*data: tuple[int, float], loss: int = 0, shared: bool = False) -> list[BatchTrained]:
    """In each step a batch, and the size of its loss."""
    return [
        BatchTrained(
            replicas=0,
            taken=taken,
            location=None,
            loader="",
            given=given,
            drawn=None,
            loss=loss,
            loss_size=size,
            shared=shared,
        )
        for taken, (given, size) in enumerate(data)
    ]


def on_the_same_data(*ranks: Sequence[BatchTrained]) -> list[Finding]:
    group = range(len(ranks))
    return found(ranks_see_same_data, *([met(ranks=group), read(rank, 0, SAME), *ranks[rank]] for rank in group))


def test_samples_in_another_order_are_the_same_where_losses_differ_by_rounding() -> None:
    first = trained_on((1, 0.5), (2, 0.4), (3, 0.3))
    rounded = trained_on((1, 0.5000001), (2, 0.4), (3, 0.3), loss=1)
    [finding] = on_the_same_data(first, rounded)
    assert "in whatever order" in finding.message
    assert on_the_same_data(first, trained_on((1, 0.501), (2, 0.4), (3, 0.3), loss=1)) == []
    assert on_the_same_data(first, trained_on((1, 0.5), (2, 0.4), (3, 0.3), shared=True)) == []
    [finding] = on_the_same_data(first, first)
    assert "in whatever order" not in finding.message


def test_some_of_the_ranks_may_share_their_samples() -> None:
    one, other = trained_on((1, 0.5), (2, 0.4), (3, 0.3)), trained_on((4, 0.5), (5, 0.4), (6, 0.3), loss=1)
    assert [finding.ranks for finding in on_the_same_data(one, other, one)] == [(0, 2)]
    assert [finding.ranks for finding in on_the_same_data(one, other, other, one)] == [(0, 3), (1, 2)]
