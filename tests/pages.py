"""Reports that fill every part of the page, with harmless words or with words that want out of it."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from autograd_doctor.findings import Edit, Fix
from autograd_doctor.report import Assumed, OptimizerFacts, Place, Report, Suppression
from autograd_doctor.run_course import Course, Flow, FlowRow, Lane, ModuleRow, Moment, Series, Timeline, told
from tests.reports import sick

HOSTILE = (
    "</script><script>window.hostile=1</script>",
    "<img src=x onerror='window.hostile=1'>",
    '" onmouseover="window.hostile=1" x=\'',
    "]]><!--<svg/onload=window.hostile=1>-->",
    "{{ 7 * 7 }}{% raw %}&lt;&#60;&amp;",
    "</title></style></textarea></noscript><script>window.hostile=1</script>",
    "javascript:window.hostile=1",
    "a\u2028b\u2029c\x00d\x1b[31me\x7f\u202ef\ufeff\x0bg",
    "lone \ud800 and \udfff",
    "𝕌nicode, 日本語, e\u0301, 👩‍👩‍👧",
    "long" * 3000,
)
_FIXED = {
    *("severity", "confidence", "verdict", "stopped_by", "applicability", "quantity", "script", "phases_seen"),
    *("phases_not_seen", "norms", "values", "gradient", "update_ratio", "snippet"),
}
"""Fields whose words are the doctor's own, and source, which is cut into pieces of its own."""


def course() -> Course:
    """Two optimizers, a layer without gradient, one of zeros, one that is not finite."""
    steps = list(range(1, 13))
    return Course(
        steps=40,
        series=[
            Series(
                quantity="loss", name="loss", place="train.py:14", steps=steps, values=[3.0 / step for step in steps]
            ),
            Series(quantity="loss", name="train.py:15", steps=[2, 4, 6], values=[1.0, "nan", "inf"]),
            Series(
                quantity="gradient norm",
                name="optimizer",
                network="other",
                steps=steps,
                values=[10.0**step for step in steps],
            ),
            Series(quantity="update ratio", name="optimizer", steps=steps, values=[0.001] * 12),
            Series(quantity="learning rate", name="optimizer", steps=steps, values=[0.1 * step for step in steps]),
            Series(quantity="memory", name="process", steps=steps, values=[1e8 + 1e6 * step for step in steps]),
        ],
        flow=Flow(
            steps=steps,
            rows=[
                FlowRow(
                    name="model.body.0.weight", parameters=1, norms=[10.0**-step for step in steps], network="model"
                ),
                FlowRow(name="model.body.1", parameters=2, norms=[0.0] * 12, network="model"),
                FlowRow(name="model.head.weight", parameters=1, norms=[1.0] * 6 + ["nan"] * 6, network="model"),
                FlowRow(name="model.head.bias", parameters=1, norms=[None] * 12, network="model"),
            ],
        ),
        modules=[
            ModuleRow(name="model", kind="Net", depth=0, values=1234567, parameters={"trained": 3, "frozen": 1}),
            ModuleRow(
                name="model.body", kind="Sequential", depth=1, values=99, parameters={"trained": 2}, gradient=0.1
            ),
            ModuleRow(name="model.body.0", kind="Linear", depth=2, values=99, parameters={"trained": 2}, dead=0.75),
            ModuleRow(name="model.head", kind="Linear", depth=1, values=9, parameters={"frozen": 1}, gradient="nan"),
            ModuleRow(name="other", kind="Linear", depth=0, values=9, parameters={"trained": 2}),
        ],
        timeline=Timeline(
            lanes=[
                Lane("forward", [[1, 10], [25, 26]]),
                Lane("step", [[1, 10], [25, 26]]),
                Lane("evaluation", [[8, 8]]),
            ],
            light=[[11, 24], [27, 40]],
            cycle=[
                Moment(step=2, what="backward", detail="from loss", place="train.py:14"),
                Moment(step=2, what="step", detail="optimizer", place="train.py:15", times=2),
            ],
            moments=[Moment(step=1, what="optimizer built", detail="optimizer (SGD)", place="train.py:9")],
        ),
    )


def crowded() -> Report:
    """Each section of the page has something to show."""
    report = sick()
    edit = Edit(path="train.py", line=14, column=1, end_line=14, end_column=1, content="optimizer.zero_grad()\n")
    fixed = msgspec.structs.replace(
        report.findings[0], fix=Fix(applicability="safe", description="clear them", edits=(edit,)), explains_crash=True
    )
    facts = {"path": "train.py", "column": 5, "end_column": 20, "snippet": "    loss.backward()"}
    tuned, script = (
        msgspec.convert({**facts, "line": line, "end_line": line, "function": name}, Place)
        for line, name in ((30, "Tuner.fit"), (44, ""))
    )
    return msgspec.structs.replace(
        report,
        assumed=Assumed(said=["a batch of 8"], settings="model:\n  batch: 8\n"),
        run=msgspec.structs.replace(
            report.run, optimizers=[OptimizerFacts("optimizer", "SGD", 4, 40)], not_reached=[tuned, script]
        ),
        findings=[fixed, *report.findings[1:]],
        suppressed=[msgspec.structs.replace(report.findings[1], suppressed=Suppression("comment", "as meant"))],
        course=course(),
    )


_LIMITS = [0.0, 5e-324, 1e-310, 1e-53, 1e-31, 1e-23, 1.0, 1.001, 1e23, 1e300, 1.797e308]
_numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([*_LIMITS, *(-at for at in _LIMITS)])
_falling = st.tuples(st.floats(-320, 308), st.floats(-320, 308), st.integers(2, 60)).map(
    lambda ends: [10.0 ** (ends[0] + (ends[1] - ends[0]) * at / (ends[2] - 1)) for at in range(ends[2])]
)
curves = (
    _falling
    | st.lists(st.floats(0.999, 1.001), min_size=1, max_size=9)
    | st.lists(_numbers | st.sampled_from([float("nan"), float("inf"), -float("inf")]), min_size=1, max_size=9)
    | st.tuples(_numbers, st.integers(1, 40)).map(lambda each: [each[0]] * each[1])
)


def drawing(curve: list[float]) -> Report:
    """A report in which every plot has this curve, and the gradients of a layer."""
    values, steps = [told(value) for value in curve], list(range(1, len(curve) + 1))
    quantities = ("loss", "gradient norm", "update ratio", "learning rate", "memory")
    series = [Series(quantity=each, name="curve", steps=steps, values=values) for each in quantities]  # type: ignore[arg-type]
    flow = Flow(steps=steps, rows=[FlowRow(name="layer", parameters=1, norms=[told(abs(value)) for value in curve])])
    report = crowded()
    return msgspec.structs.replace(report, course=msgspec.structs.replace(report.course, series=series, flow=flow))


def saying(words: str, report: Report) -> Report:
    """The report with these words behind all others, wherever the words of a program may come to stand."""
    return msgspec.convert(_saying(words, msgspec.to_builtins(report)), Report)


def _saying(words: str, value: Any) -> Any:
    if isinstance(value, dict):
        fixed = {key for key in value if key in _FIXED or (key == "kind" and "reason" in value)}
        return {
            _key(words, key, value): inner if key in fixed else _saying(words, inner) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_saying(words, inner) for inner in value]
    return f"{value}{words}" if isinstance(value, str) else value


def _key(words: str, key: str, siblings: dict[str, Any]) -> str:
    """Keys of evidence, packages, reasons and shares are words, too; those of structures are not."""
    structures = (Report, Course, *map(type, _parts(crowded())))
    known = {name for kind in structures for name in getattr(kind, "__struct_fields__", ())}
    return key if key in known or key in ("error", "warning", "info") else f"{key}{words}"


def _parts(value: Any) -> list[Any]:
    if isinstance(value, msgspec.Struct):
        return [value, *(part for name in value.__struct_fields__ for part in _parts(getattr(value, name)))]
    if isinstance(value, list | tuple):
        return [part for inner in value for part in _parts(inner)]
    return []
