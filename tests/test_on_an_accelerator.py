"""Programs that train on an accelerator, by a stand-in for one: what is found there, and what is said not to be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from textwrap import dedent
from zlib import crc32

import pytest

from autograd_doctor.report import Report
from autograd_doctor.rules import Example, Rule, all_rules
from tests.harness import (
    answered,
    assert_healthy,
    body_of,
    check_program,
    hinted,
    marks,
    profile_program,
    programs,
    summary,
)
from tests.moved import moved
from tests.stand_in.building import lacking

pytestmark = [
    pytest.mark.skipif(lacking() is not None, reason=f"the stand-in cannot be compiled: {lacking()}"),
    pytest.mark.needs_torch("2.13", "the headers that the stand-in is compiled with"),
]

EVERY = int(os.environ.get("ACCELERATOR_EVERY", "16"))
"""Of the examples of the rules, one in so many: all of them, with 1, take a quarter of an hour."""
PROGRAMS_EVERY = EVERY * 10 if EVERY > 1 else 1
"""Of the program tests, one in so many: they take longer."""
WAYS = ("made there", "moved there")
"""By the default device, or by `.to`, as people write it: a half of what is drawn goes each way, and all both ways if
all is drawn."""
NEEDS_THE_HOST = {
    ("AD403", "bad"),
    ("AD403", "bad_scaled_by_a_range_of_zero"),
    ("AD403", "good"),
    ("AD617", "good_channels_first"),
    ("AD636", "good_final_state"),
    ("AD705", "bad"),
    ("AD705", "good"),
    ("AD803", "bad"),
    ("AD806", "bad_workers_start_in_each_pass"),
    ("AD806", "good_workers_are_kept"),
    ("AD806", "good_first_batch_is_slow"),
    ("AD807", "bad"),
    *((rule.code, each.__name__) for rule in all_rules() if rule.code[:3] == "AD9" for each in (*rule.bad, *rule.good)),
}
"""Examples that fail of themselves where all tensors are made on a device: they take arrays, or lengths on the CPU,
have workers make them, or ranks exchange them through gloo, as all of the family AD9xx do. For AD803 and
AD807, torch has kernels on real devices that the stand-in lacks."""
ON_IT = "from tests.stand_in import device as _\n"
ALL_ON_IT = ON_IT + "import torch\ntorch.set_default_device('stand_in')\n"
NAMES_THE_HOST = re.compile(r'(?:(?<=autocast\()|(?<=GradScaler\()|(?<=\ndevice = ))"cpu"')
"""Where programs say for which device numbers are cast or losses scaled."""


def check(source: str, *, before: str = ON_IT) -> Report:
    """A program that has the device `stand_in`."""
    return check_program(before + dedent(source))


# ------------------------------------------------------------------------------------------------------------- profiles


def test_what_is_moved_to_the_device_is_a_part_of_an_iteration() -> None:
    report = profile_program(
        ON_IT
        + dedent("""
            import torch
            from torch import nn

            torch.manual_seed(0)
            features, labels = torch.randn(256, 8), torch.randint(0, 3, (256,))
            model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)).to("stand_in")
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            for rows in torch.randint(256, (50, 32)):
                optimizer.zero_grad()
                found = model(features[rows].to("stand_in"))
                nn.functional.cross_entropy(found, labels[rows].to("stand_in")).backward()
                optimizer.step()
        """)
    )
    assert report.profile is not None
    lines = {part.activity: {line.rpartition(":")[2] for line in part.lines} for part in report.profile.parts}
    assert lines["transfer"] == {"12", "13"}


# ----------------------------------------------------------------------------------------------------- healthy programs


def test_an_evaluation_in_inference_mode_is_healthy() -> None:
    report = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        device = "stand_in"
        features, labels = torch.randn(256, 8), torch.randint(0, 3, (256,))
        centres = torch.randn(3, 8) * 3
        features = features + centres[labels]
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for epoch in range(4):
            model.train()
            for rows in torch.randperm(192).split(32):
                x, y = features[rows].to(device), labels[rows].to(device)
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.inference_mode():
                right = model(features[192:].to(device)).argmax(1).cpu() == labels[192:]
                print(epoch, right.float().mean().item())
    """)
    assert_healthy(report)
    assert report.environment.device == "stand_in"


def test_a_padding_row_that_is_filled_without_gradients_is_healthy() -> None:
    report = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        device = "stand_in"

        class Tagger(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(30, 16, padding_idx=0, device=device)
                self.scale = nn.Parameter(torch.randn(4, 16, device=device))
                with torch.no_grad():
                    self.scale[0].fill_(0.5)
                self.head = nn.Linear(16, 2, device=device)

            def forward(self, words):
                return self.head((self.embedding(words) * self.scale.mean(0)).mean(1))

        model = Tagger()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        for step in range(40):
            words = torch.randint(1, 30, (32, 6))
            answers = (words < 15).float().mean(1).gt(0.5).long().to(device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(words.to(device)), answers)
            loss.backward()
            optimizer.step()
    """)
    assert_healthy(report)


def test_gradients_that_are_cleared_behind_their_versions_are_seen_to_be() -> None:
    """Where versions of gradients tell what was done to them, nobody waits for their norms."""
    source = """
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to("stand_in")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(30):
            x = torch.randn(16, 8).to("stand_in")
            for parameter in model.parameters() if step else ():
                parameter.grad.data.zero_()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
    """
    assert_healthy(check(source))
    sick = check(source.replace("if step else ()", "if step % 2 == 1 else ()"))
    assert [finding.code for finding in sick.findings] == ["AD101"], summary(sick)


# ------------------------------------------------------------------------------------------------------ what is told

TRAINING = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    device = "stand_in"
    data = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(30):
        x = data[torch.randint(0, 64, (16,))].to(device)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


CLOSELY = 3
"""How often half of the steps that are looked at closely may wait. Trials, of which each is made once, come on top."""


def test_no_step_waits_more_often_than_its_kind_may() -> None:
    """In another process, since a device of that name is there for good once it is."""
    told = subprocess.run(
        [sys.executable, "benchmarks/waits.py", "--json", "--steps", "60"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    waits: dict[str, dict[str, list[int]]] = json.loads(told.stdout)
    assert len(waits) == 10
    for program, by_kind in waits.items():
        assert len(by_kind["light"]) > 20
        assert max(by_kind["light"]) == 0, program
        assert max(by_kind["recorded"]) == 0, program
        assert median(by_kind["closely"]) <= CLOSELY, program


RESTING = """
import json, sys, tempfile
import torch
sys.path.insert(0, "benchmarks")
from tests.stand_in import device
import autograd_doctor, waits

def waited(make, monitor):
    torch.manual_seed(0)
    step, found = make(), []
    for _ in range(160):
        rests = monitor is not None and monitor.is_resting
        with device.recorded() as stacks:
            step()
        found.append((len(stacks), rests and monitor.is_resting))
    return found

told = {}
for make in waits.PROGRAMS:
    alone = waited(make, None)
    with autograd_doctor.monitor(tempfile.mkdtemp() + "/run.trace") as monitor:
        watched = waited(make, monitor)
    told[make.__name__] = [own - plain for (own, rests), (plain, _) in zip(watched, alone) if rests]
print(json.dumps(told))
"""


def test_between_chapters_of_a_run_nothing_waits_for_us() -> None:
    done = subprocess.run(
        [sys.executable, "-c", RESTING], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    waits: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    assert len(waits) == 10
    for program, in_steps in waits.items():
        assert len(in_steps) > 20, program
        assert max(in_steps) == 0, program


@pytest.mark.parametrize("spoiled", [0, 1, 3])
def test_the_birth_of_a_nan_is_found_in_whichever_backward_of_a_step_it_shows(spoiled: int) -> None:
    """Only the first ones of a step are waited for."""
    report = check(f"""
        import torch
        from torch import nn

        torch.manual_seed(0)
        device = "stand_in"
        data = torch.rand(64, 6) + 0.5
        data[::9] = 0.0
        model = nn.Linear(6, 1).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(30):
            optimizer.zero_grad()
            for part in range(4):
                rows = torch.arange(step, step + 8) % 64
                x = data[rows].to(device) + (0.0 if step == 2 and part == {spoiled} else 1.0)
                loss = nn.functional.mse_loss(model(x.log()), x.sum(1, keepdim=True)) / 4
                loss.backward()
            optimizer.step()
    """)
    assert [(each.code, each.location and each.location.line) for each in report.findings] == [("AD401", 17)]


@pytest.mark.parametrize(("code", "name"), [("AD701", "bad"), ("AD704", "bad"), ("AD710", "bad_buffers_left_behind")])
def test_what_cannot_be_told_there_is_said_not_to_have_been_checked(code: str, name: str) -> None:
    rule = next(rule for rule in all_rules() if rule.code == code)
    source = body_of(next(example for example in rule.bad if example.__name__ == name))
    report = check_program(ALL_ON_IT + source)
    assert code not in {finding.code for finding in report.findings}
    assert "on an accelerator" in report.checks.skipped[code]


@pytest.mark.parametrize(
    ("code", "name"),
    [("AD701", "bad"), ("AD704", "bad"), ("AD706", "bad"), ("AD708", "bad"), ("AD712", "bad"), ("AD720", "bad")],
)
def test_what_was_moved_there_is_known_by_what_it_is_a_copy_of(code: str, name: str) -> None:
    rule = next(rule for rule in all_rules() if rule.code == code)
    source = _on_it(body_of(next(example for example in rule.bad if example.__name__ == name)), "moved there")
    found = {(finding.code, finding.location.line) for finding in check_program(source).findings if finding.location}
    assert set(marks(source)) <= found


MEMORISED = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, buffer = torch.randn(320, 8), torch.empty(16, 8)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to("stand_in")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(60):
        x = data[16 * (step % 20) : 16 * (step % 20) + 16].to("stand_in")
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                for part in data[:32].to("stand_in").split(16):
                    print(model(part).mean().item())
            model.train()
"""


def test_a_part_of_what_was_moved_there_is_known_as_well() -> None:
    report = check(MEMORISED)
    assert {finding.code for finding in report.findings} <= {"AD706"}, summary(report)
    assert "AD706" in report.checks.ran


@pytest.mark.parametrize(
    "change",
    [
        "buffer.copy_(data[torch.randint(0, 320, (16,))]); x = buffer.to('stand_in')",
        "x = buffer.to('stand_in'); x.copy_(data[torch.randint(0, 320, (16,))])",
        "x = buffer.to('stand_in'); buffer.zero_(); x = x + torch.randn(16, 8).to('stand_in')",
    ],
)
def test_a_copy_that_was_written_to_is_no_copy(change: str) -> None:
    report = check(MEMORISED.replace("x = data[16 * (step % 20) : 16 * (step % 20) + 16].to", f"{change}; x = x.to"))
    assert not {finding.code for finding in report.findings} & {"AD701", "AD704"}, summary(report)


def test_the_memory_of_the_accelerator_is_drawn() -> None:
    report = check(TRAINING)
    assert_healthy(report)
    drawn = next(series for series in report.course.series if series.name == "tensors on accelerators")
    assert min(map(float, drawn.values)) > 4 * (6 * 16 + 16 + 16 + 1)


def test_lines_that_wait_for_the_accelerator_are_told_with_how_often_they_do() -> None:
    source = dedent(TRAINING).replace("range(30)", "range(60)") + (
        "    total = total + loss.item() if step else loss.item()\n"
        "    if step % 5 == 2:\n"
        "        print(f'{loss:.3f}')\n"
    )
    report = profile_program(ON_IT + source)
    assert report.profile is not None
    at = {text.strip(): number for number, text in enumerate((ON_IT + source).splitlines(), start=1)}
    each, fifth = (at[next(text for text in at if text.startswith(start))] for start in ("total", "print"))
    found = {int(waiting.line.rpartition(":")[2]): waiting for waiting in report.profile.waiting}
    assert set(found) == {each, fifth}
    assert found[each].times == 1.0
    assert 0.0 < found[fifth].times < 0.6
    assert found[each].seconds > 0.0


def test_who_waits_for_nothing_is_told_of_no_line() -> None:
    report = profile_program(ON_IT + dedent(TRAINING).replace("range(30)", "range(60)"))
    assert report.profile is not None
    assert report.profile.iterations > 5
    assert report.profile.waiting == []


@pytest.mark.parametrize("half", [False, True])
def test_an_evaluation_is_tried_there(half: bool) -> None:
    source = dedent(TRAINING).replace("range(30)", "range(60)") + (
        "    if step % 5 == 2:\n"
        "        model.eval()\n"
        f"        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled={half}):\n"
        f"            assert model(x).dtype is torch.{'bfloat16' if half else 'float32'}\n"
        "        model.train()\n"
    )
    report = profile_program(ON_IT + source)
    assert report.profile is not None
    assert report.checks.skipped == {}
    (tried,) = report.profile.evaluations
    assert (tried.module, tried.gradients, tried.met) == ("model", False, "")


def test_who_trains_on_the_cpu_beside_an_accelerator_is_told_so() -> None:
    report = check(TRAINING.replace('device = "stand_in"', 'device = "cpu"'))
    assert_healthy(report)
    assert report.environment.device == "cpu"


def test_nan_in_data_is_not_blamed_on_what_moves_or_uses_them() -> None:
    source = TRAINING.replace("model = nn", "data[:, 3] = torch.nan\n    model = nn")
    report = check(source.replace(".to(device)\n        loss", ".to(device).view(16, 6)[:, :]\n        loss"))
    assert [finding.code for finding in report.findings][:1] == ["AD403"], summary(report)


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("ad219_volume_left_out", "made there"),  # values that we read are no use for them
        ("ad220_soft_prompt", "made there"),  # nor are gradients that we read
        ("ad401_bandit_entropy", "made there"),  # NaN that the loss leaves out
        ("ad401_padding_normalised_to_nothing", "made there"),  # NaN that the program only reads
        ("ad401_reservoir_of_signals", "made there"),  # NaN in gradients that are clipped in place afterwards
        ("ad405_prior_in_logits", "made there"),  # a loss that is known to be lost only when other things are
        ("ad405_chunked_state", "moved there"),  # a state that is there already where it is moved
        ("ad407_first_token", "moved there"),  # another one, within the graph of a step
        ("ad410_forecast_against_itself", "made there"),  # gradients that cancel out, cleared before that is known
    ],
)
def test_the_fault_of_a_program_is_found_there_as_well(name: str, way: str) -> None:
    (program,) = (path for path in programs() if path.stem == name)
    source = _on_it(program.read_text(encoding="utf-8"), way)
    found = check_program(source).findings[0]
    assert found.location is not None
    assert [(found.code, found.location.line)] == marks(source)


@pytest.mark.parametrize("change", ["z.mul_(2)", "z = z.to('stand_in')", "z[0] = 0.5 * y[0].detach()"])
def test_what_changes_or_passes_on_a_nan_afterwards_is_not_blamed_for_it(change: str) -> None:
    report = check(f"""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(8, 4).to("stand_in")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(8):
            y = model(torch.randn(16, 8).to("stand_in"))
            z = (y.detach() - 1).log()
            {change}
            loss = (y * z).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert [(each.code, each.location and each.location.line) for each in report.findings] == [("AD401", 11)]


def test_a_loader_that_collates_onto_the_accelerator_is_healthy() -> None:
    report = check("""
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset, default_collate

        torch.manual_seed(0)
        x = torch.randn(96, 6)
        loader = DataLoader(
            TensorDataset(x, x.sum(1, keepdim=True)),
            batch_size=16,
            shuffle=True,
            collate_fn=lambda samples: [part.to("stand_in") for part in default_collate(samples)],
        )
        model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1)).to("stand_in")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(5):
            for given, wanted in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(given), wanted).backward()
                optimizer.step()
    """)
    assert_healthy(report)
    assert {"AD701", "AD704"} <= set(report.checks.ran)


def test_what_held_the_memory_that_ran_out_is_told() -> None:
    report = check("""
        import torch
        from torch import nn

        from tests.stand_in import device as stand_in

        torch.manual_seed(0)
        layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(8)]).to("stand_in")
        optimizer = torch.optim.Adam(layers.parameters(), lr=0.001)
        stand_in.limit_memory(stand_in.memory_allocated() + 4_000_000)
        for size in [32] * 6 + [4096] * 6:
            hidden = torch.randn(size, 64, device="stand_in")
            for layer in layers:
                hidden = torch.tanh(layer(hidden))
            loss = hidden.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    (finding,) = report.findings
    assert finding.code == "AD513", summary(report)
    parameters = 8 * (64 * 64 + 64) * 4
    assert (finding.evidence["parameter_bytes"], finding.evidence["optimizer_bytes"]) == (parameters, 2 * parameters)
    saved, asked = finding.evidence["saved_bytes"], finding.evidence["asked_bytes"]
    assert asked == 4096 * 64 * 4
    assert isinstance(saved, int)
    assert saved > 2_000_000
    assert "checkpoint" in finding.help
    assert any("tanh" in related.message for related in finding.related)


def test_an_error_that_comes_late_is_reported_with_the_line_that_made_it() -> None:
    """The program plays a device that tells of errors when it is waited for, unless each line is to wait."""
    source = ON_IT + dedent("""
        import os

        import torch
        from torch import nn

        errors = []
        calls = iter(range(100))

        def gather(x):
            if next(calls) == 7:
                errors.append(torch.AcceleratorError("CUDA error: device-side assert triggered"))
                if os.environ.get("CUDA_LAUNCH_BLOCKING") == "1":
                    raise errors[0]
            return x.clone()

        torch.manual_seed(0)
        model = nn.Linear(4, 1).to("stand_in")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for _ in range(20):
            x = torch.randn(16, 4).to("stand_in")
            loss = nn.functional.mse_loss(model(gather(x)), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if errors:
                raise errors.pop()
    """)
    report = check_program(source)
    (finding,) = report.findings
    assert (finding.code, finding.location is not None) == ("AD599", True), summary(report)
    assert finding.location is not None
    assert source.splitlines()[finding.location.line - 1].strip() == "raise errors[0]"
    assert "earlier" not in finding.message


SLICES = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(160, 8, device="stand_in")
    y = x.sum(1, keepdim=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to("stand_in")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    begin, size = 0, 16
    for _ in range(20):
        inputs = x[begin : begin + size]
        loss = nn.functional.mse_loss(model(inputs), y[begin : begin + size])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_slice_of_a_tensor_there_that_is_the_batch_of_each_step_is_found() -> None:
    report = check(SLICES)
    assert [finding.code for finding in report.findings] == ["AD701"], summary(report)


@pytest.mark.parametrize("change", ["x.normal_()", "x.normal_(); y = x.sum(1, keepdim=True)", "begin = 16 * (_ % 10)"])
def test_a_slice_that_is_another_or_was_written_to_is_another_batch(change: str) -> None:
    report = check(SLICES.replace("        inputs =", f"        {change}\n        inputs ="))
    assert "AD701" not in {finding.code for finding in report.findings}, summary(report)


# --------------------------------------------------------------------------------------------------- examples of rules


def _ways(name: str, every: int) -> Sequence[str]:
    """None of what is not drawn."""
    number = crc32(name.encode())
    return WAYS if every == 1 else [WAYS[number // every % 2]] if number % every == 0 else []


def _drawn(kind: str) -> list[object]:
    return [
        pytest.param(rule, example, way, id=f"{rule.code}-{example.__name__}-{way}")
        for rule in all_rules()
        for example in getattr(rule, kind)
        for way in _ways(f"{rule.code} {example.__name__}", EVERY)
        if way == "moved there" or (rule.code, example.__name__) not in NEEDS_THE_HOST
    ]


def _on_it(source: str, way: str) -> str:
    if way == "made there":
        return ALL_ON_IT + NAMES_THE_HOST.sub('"stand_in"', source)
    there = answered(moved, source)
    if there in (None, source):
        pytest.skip("nothing of it is to be moved")
    return ON_IT + NAMES_THE_HOST.sub('"stand_in"', str(there))


@pytest.mark.parametrize(("rule", "example", "way"), _drawn("bad"))
def test_a_fault_is_found_or_said_not_to_have_been_looked_for(rule: Rule, example: Example, way: str) -> None:
    source = _on_it(body_of(example), way)
    report = (profile_program if rule.profiles else check_program)(source)
    found = {(finding.code, finding.location.line) for finding in report.findings if finding.location}
    is_found = set(marks(source)) <= found
    assert is_found or rule.code in report.checks.skipped, summary(report)
    assert report.verdict != "not-judged", report.exit_reason


@pytest.mark.parametrize(("rule", "example", "way"), _drawn("good"))
def test_a_healthy_example_is_healthy(rule: Rule, example: Example, way: str) -> None:
    look = profile_program if rule.profiles else check_program
    report = look(_on_it(body_of(example), way))
    assert not report.findings, summary(report)
    assert report.verdict != "not-judged", report.exit_reason


MOVED = [
    ("nn.Linear(4, 1)(torch.ones(2, 4))", "nn.Linear(4, 1).to('stand_in')(torch.ones(2, 4).to('stand_in'))"),
    (
        "net = nn.Sequential(nn.Linear(4, 1), nn.Tanh())",
        "net = nn.Sequential(nn.Linear(4, 1), nn.Tanh()).to('stand_in')",
    ),
    (
        "w = nn.Parameter(torch.ones(2))\nw + x[:2]  # <- AD101",
        "w = nn.Parameter(torch.ones(2).to('stand_in'))\nw + x[:2].to('stand_in')  # <- AD101",
    ),
    (
        "w = torch.ones(4, requires_grad=True)\n(w * (x - 1)).sum()",
        "w = torch.ones(4, requires_grad=True, device='stand_in')\n(w * ((x - 1).to('stand_in'))).sum()",
    ),
    (
        'print(f"{(nn.Linear(4, 1)(x) + 1).detach().numpy()}")',
        "print(f\"{(nn.Linear(4, 1).to('stand_in')(x.to('stand_in')) + 1).detach().cpu().numpy()}\")",
    ),
    (
        "net = nn.Linear(4, 4)\nx += net(x).detach()",
        "net = nn.Linear(4, 4).to('stand_in')\nx += net(x.to('stand_in')).detach().cpu()",
    ),
    ("y = x[x > 0] + 1\nprint(x, y)", "y = x[x > 0] + 1\nprint(x, y)"),
]


@pytest.mark.parametrize(("source", "there"), MOVED)
def test_programs_are_moved_as_people_write_it(source: str, there: str) -> None:
    head = "import torch\nfrom torch import nn\nx = torch.arange(4.0)\n"
    assert answered(moved, head + source) == head + there


# ------------------------------------------------------------------------------------------------------ whole programs


def _around(code: str, mark: int) -> set[tuple[str, int]]:
    """Where a finding may stand, as where programs are checked on the CPU."""
    return {(code, line) for line in range(mark - 2, mark + 3)}


@pytest.mark.parametrize(
    ("program", "way"),
    [
        pytest.param(path, way, id=f"{path.stem}-{way}")
        for path in programs()
        for way in _ways(path.stem, PROGRAMS_EVERY)
    ],
)
def test_verdict_on_a_program(program: Path, way: str) -> None:
    """Some fail of themselves where all tensors are made on a device: they have arrays, or workers, make some."""
    source = _on_it(program.read_text(encoding="utf-8").replace("from __future__ import annotations\n", "\n"), way)
    report = check_program(source)
    found = {(finding.code, finding.location.line) for finding in report.findings if finding.location}
    missing = {mark for mark in marks(source) if not _around(*mark) & found}
    unwanted = {finding.code for finding in report.findings} - {code for code, _ in marks(source)}
    if unwanted and any(finding.explains_crash and "stand_in" in str(finding) for finding in report.findings):
        pytest.skip("it mixes tensors of two devices")
    assert not missing or {code for code, _ in missing} <= report.checks.skipped.keys(), summary(report)
    assert {finding.code for finding in report.findings} <= set(hinted(source)) or marks(source), summary(report)
    assert report.verdict != "not-judged", report.exit_reason
