"""Faults that come up when the first steps are long over: found at their line, at whatever step they come."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from autograd_doctor.report import Report
from tests.commands import check_by_command
from tests.harness import assert_healthy, check_program, marks


def findings(report: Report) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.line if finding.location else 0) for finding in report.findings]


def check(source: str, **plan: object) -> tuple[Report, list[tuple[str, int]]]:
    """The report on a program, and the findings that its marks ask for."""
    source = dedent(source)
    return check_program(source, **{"steps": 10_000, **plan}), marks(source)


@pytest.mark.parametrize("born", [1, 7, 26, 50, 63, 500])
def test_a_nan_is_found_where_it_was_born_in_whatever_step(born: int) -> None:
    source = """
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(BORN + 5):
            x = torch.randn(16, 4)
            out = model(x)
            shifted = out.square() + 1.0 - 3.0 * (step == BORN)
            penalty = shifted.log()  # <- AD401
            loss = (out - x.sum(1, keepdim=True)).square().mean() + 0.01 * penalty.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """
    report, wanted = check(source.replace("BORN", str(born)))
    assert findings(report) == wanted, report.exit_reason
    assert report.run.steps >= born


@pytest.mark.parametrize("born", [24, 41, 49, 124])
def test_a_nan_that_is_born_backward_in_a_late_step(born: int) -> None:
    source = """
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(BORN + 10):
            out = model(torch.randn(8, 4))
            if step == BORN:
                out = out * 0.0
            length = out.pow(2).sum(1).sqrt()  # <- AD402
            loss = (length - 1.0).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    """
    report, wanted = check(source.replace("BORN", str(born)))
    assert findings(report) == wanted, report.exit_reason


def test_a_cause_that_a_second_run_does_not_show_is_not_called_healthy() -> None:
    report, _ = check("""
        import os
        import torch
        from torch import nn

        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        second = os.path.exists("seen")
        os.system("touch seen")  # which stays there, as what other programs write does
        for step in range(40):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            if step == 20 and not second:
                loss = loss * float("nan")
            optimizer.zero_grad()
            loss.backward()
            if not loss.isnan():
                optimizer.step()
    """)
    assert (report.verdict, report.exit_code) == ("not-judged", 4)
    assert "a second run, with every operation around step 20 recorded, did not reproduce it" in report.exit_reason


def test_a_second_stage_of_training_is_looked_at_as_closely_as_the_first() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)

        def fit(model, optimizer, steps, clear):
            for _ in range(steps):
                x = torch.randn(16, 4)
                loss = (model(x) - x[:, :1]).pow(2).mean()
                if clear:
                    optimizer.zero_grad()
                loss.backward()
                optimizer.step()  # <- AD101

        encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
        both = nn.Sequential(encoder, nn.ReLU(), head)
        fit(both, torch.optim.Adam(both.parameters(), lr=1e-3), 137, True)
        tuned = torch.optim.SGD(head.parameters(), lr=1e-3)
        fit(both, tuned, 31, False)
    """)
    assert findings(report) == wanted, report.exit_reason


def test_graphs_that_pile_up_from_a_later_epoch_on() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(8, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        history = []
        for epoch in range(12):
            for batch in range(20):
                x = torch.randn(16, 8)
                loss = (model(x) - x[:, :1]).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if epoch >= 5:
                    history.append(loss)  # <- AD301
    """)
    assert findings(report) == wanted, report.exit_reason


CURRICULUM = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    difficulty = torch.rand(64)
    for step in range(260):
        x, rows = torch.randn(16, 4), torch.randint(0, 64, (16,))
        errors = (model(x).squeeze(1) - x.sum(1)).square()
        weights = (difficulty[rows] >= 0.02 * step).float()
        loss = (errors * weights).sum() / weights.sum().clamp(min=1.0)MORE
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_weights_that_leave_nothing_from_some_step_on() -> None:
    report, wanted = check(CURRICULUM.replace("MORE", "  # <- AD707"))
    assert findings(report) == wanted, report.exit_reason


def test_weights_that_end_one_part_of_a_loss() -> None:
    report, _ = check(CURRICULUM.replace("MORE", " + 0.1 * errors.mean()"))
    assert findings(report) == []


def test_an_evaluation_after_the_last_step() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 1))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(120):
            x = torch.randn(16, 8)
            loss = (model(x) - x[:, :1]).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total = 0.0
        with torch.no_grad():
            for _ in range(5):
                x = torch.randn(16, 8)
                total += (model(x) - x[:, :1]).pow(2).mean().item()  # <- AD211
        print(total)
    """)
    assert findings(report) == wanted, report.exit_reason


def test_the_last_batch_of_a_long_pass_is_reached() -> None:
    report, _ = check(
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for (x,) in DataLoader(TensorDataset(torch.randn(16 * 500 + 1, 4)), batch_size=16):
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
        steps=30,
    )
    (finding,) = report.findings
    assert (finding.code, report.run.stopped_by, report.run.steps) == ("AD607", "raised", 10)
    assert "the last batch of its loader" in finding.message
    assert any("followed by its last batch" in note for note in report.notes)


def test_a_crash_in_a_light_step_is_explained_by_a_second_run() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(60):
            x = torch.randn(8, 4 if step < 44 else 5)
            loss = model(x).pow(2).mean()  # <- AD512
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert findings(report) == wanted, report.exit_reason
    assert any("in the first run, the program raised `RuntimeError` in step 44" in note for note in report.notes)


@pytest.mark.parametrize("every", [7, 25, 40])
def test_long_healthy_training_with_evaluations_stays_healthy(every: int) -> None:
    report, _ = check(f"""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
        recent, best = [], 9.0
        for step in range(1, 401):
            model.train()
            x = torch.randn(32, 8)
            loss = nn.functional.cross_entropy(model(x), (x.sum(1) > 0).long())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            recent = [*recent[-49:], loss.detach()]
            if step % {every} == 0:
                model.eval()
                with torch.no_grad():
                    held_out = torch.randn(64, 8)
                    score = nn.functional.cross_entropy(model(held_out), (held_out.sum(1) > 0).long()).item()
                best = min(best, score)
        print(best)
    """)
    assert_healthy(report)
    assert report.run.steps == 400
    assert report.run.steps_in_full < 200


def test_accumulation_and_two_optimizers_stay_healthy_over_many_steps() -> None:
    report, _ = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        generator, critic = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
        of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
        of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
        logits = nn.functional.binary_cross_entropy_with_logits
        for step in range(240):
            for _ in range(2):
                of_critic.zero_grad()
                for _ in range(2):
                    real, fake = torch.randn(8, 8), generator(torch.randn(8, 4)).detach()
                    loss = logits(critic(real), torch.ones(8, 1)) + logits(critic(fake), torch.zeros(8, 1))
                    (loss / 2).backward()
                of_critic.step()
            of_generator.zero_grad()
            logits(critic(generator(torch.randn(8, 4))), torch.ones(8, 1)).backward()
            of_generator.step()
    """)
    assert_healthy(report)
    assert report.run.steps == 720


def test_a_second_run_draws_the_numbers_of_the_first(tmp_path: Path) -> None:
    """Of a program that seeds nothing, the value that goes wrong comes up in the same step again."""
    script = tmp_path / "train.py"
    script.write_text(
        dedent("""
        import random
        import numpy
        import torch
        from torch import nn

        words = {"a": 0, "bb": 1, "ccc": 2, "dddd": 3}
        born = 30 + random.randrange(100) + numpy.random.randint(100) + len(next(iter(set(words))))
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(300):
            out = model(torch.randn(16, 4))
            loss = (out.square() + 1.0 - 3.0 * (step == born)).log().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """)
    )
    report, code = check_by_command(script, "--steps", "1000")
    assert (code, [finding["code"] for finding in report["findings"]]) == (1, ["AD401"])


def test_a_program_that_will_be_run_again_is_stopped_at_once() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        file = open("steps", "a+")
        file.seek(0)
        before = len(file.read())
        assert before in (0, 32), "the first run went on after the step that it will be run again for"
        for step in range(300):
            file.write("x")
            file.flush()
            loss = (model(torch.randn(16, 4)).square() + 1.0 - 3.0 * (step == 31)).log().mean()  # <- AD401
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert findings(report) == wanted
    assert report.run.steps == 300, "the second run goes on"


def test_a_nan_that_was_told_early_does_not_end_the_run() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(60):
            loss = (model(torch.randn(16, 4)).square() - 9.0).log().mean()  # <- AD401
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert findings(report) == wanted
    assert (report.run.steps, report.run.stopped_by) == (60, "finished")


@pytest.mark.parametrize(
    ("samples", "batch", "bad"), [(3000, 60, 1777), (12_000, 240, 7900)], ids=["small batches", "much work on data"]
)
def test_a_nan_of_a_late_sample_is_found_where_the_sample_is_prepared(samples: int, batch: int, bad: int) -> None:
    source = """
        import torch
        from torch import nn
        from torch.utils.data import Dataset

        class Pixels(Dataset):
            def __init__(self):
                self.raw = torch.randint(1, 255, (SAMPLES, 8), generator=torch.Generator().manual_seed(0))
                self.raw[BAD, 3] = 255

            def __len__(self):
                return len(self.raw)

            def __getitem__(self, index):
                share = self.raw[index].float() / 255
                return share.log() - (1 - share).log()  # <- AD401

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        pixels = Pixels()
        for first in range(0, SAMPLES, BATCH):
            x = torch.stack([pixels[index] for index in range(first, first + BATCH)])
            loss = (model(x) - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """
    for name, number in {"SAMPLES": samples, "BATCH": batch, "BAD": bad}.items():
        source = source.replace(name, str(number))
    report, wanted = check(source)
    assert findings(report) == wanted, report.exit_reason


def test_a_sequence_whose_beginning_is_never_learned_from() -> None:
    source = """
        import torch
        from torch import nn

        class Recurrent(nn.Module):
            def __init__(self, inputs, units, outputs):
                super().__init__()
                self.read, self.carry = nn.Linear(inputs, units), nn.Linear(units, units, bias=False)
                self.answer = nn.Linear(units, outputs)
                nn.init.normal_(self.carry.weight, std=0.03)

            def forward(self, sequence):
                state = sequence.new_zeros(sequence.shape[0], self.carry.in_features)
                for moment in sequence.unbind(1):
                    state = torch.tanh(self.read(moment) + self.carry(state))  # <- AD407
                return self.answer(state)

        torch.manual_seed(3)
        model = Recurrent(5, 32, 5)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(220):
            first = torch.randint(0, 5, (24,))
            sequence = 0.1 * torch.randn(24, 40, 5)
            sequence[:, 0] += nn.functional.one_hot(first, 5)
            loss = nn.functional.cross_entropy(model(sequence), first)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """
    report, wanted = check(source)
    assert findings(report) == wanted, report.exit_reason
    assert report.findings[0].severity == "warning"


def test_a_counter_that_has_reached_the_end_of_its_dtype() -> None:
    report, wanted = check("""
        import torch
        from torch import nn

        class Annealed(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 1)
                self.register_buffer("calls", torch.zeros(1, dtype=torch.bfloat16))

            def forward(self, x):
                self.calls = self.calls + 1  # <- AD415
                return self.layer(x), float(self.calls.clamp(max=400)) / 400

        torch.manual_seed(0)
        model = Annealed()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(340):
            x = torch.randn(16, 4)
            out, weight = model(x)
            loss = (out - x.sum(1, keepdim=True)).square().mean() + weight * out.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert findings(report) == wanted, report.exit_reason


WRAPPED_SOLVER = """
    import torch
    from torch import nn

    class Negated(nn.Module):
        def __init__(self, field):
            super().__init__()
            self.field = field

        def forward(self, state):
            return -self.field(state)

    def solve(field, state, moves):
        field, history = Negated(field), []
        for _ in range(moves):
            with torch.enable_grad():
                speed = field(state)
                (slope,) = torch.autograd.grad(speed.sum(), state, create_graph=True)
            state = state + 0.05 * speed + 0.001 * slope
            history.append(state)
        return torch.stack(history)

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-3)
    seen = []
    for step in range(STEPS):
        start = torch.randn(16, 3, requires_grad=True)
        path = solve(field, start, 9 + 7 * step % 6)
        loss = (path - start.detach() * 0.5).square().mean()
        BROKEN
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_solver_of_any_length_has_light_steps_and_stays_healthy() -> None:
    report, _ = check(WRAPPED_SOLVER.replace("STEPS", "60").replace("BROKEN", "seen.append(float(loss))"))
    assert_healthy(report)
    assert report.run.steps_in_full < 30


@pytest.mark.parametrize(
    "broken",
    [
        "loss = loss + 0.01 * (1.0 - 3.0 * (step == 47) + path.square()).log().mean()  # <- AD401",
        "if step > 20: seen.append(loss)  # <- AD301",
    ],
)
def test_a_late_fault_of_a_solver_of_any_length(broken: str) -> None:
    report, wanted = check(WRAPPED_SOLVER.replace("STEPS", "140").replace("BROKEN", broken))
    assert findings(report) == wanted, report.exit_reason


def test_a_mask_that_lets_the_future_in_once_texts_are_longer() -> None:
    report, wanted = check("""
        import torch
        from torch import nn
        from torch.nn import functional as F

        class Reader(nn.Module):
            def __init__(self, length):
                super().__init__()
                self.embed = nn.Embedding(20, 16)
                self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
                self.head = nn.Linear(16, 20)
                self.hidden = torch.ones(length, length, dtype=torch.bool).triu(1)

            def forward(self, tokens):
                more = max(0, tokens.shape[1] - len(self.hidden))
                self.hidden = F.pad(self.hidden, (0, more, 0, more))
                return self.head(self.layer(self.embed(tokens), src_mask=self.hidden))  # <- AD621

        torch.manual_seed(0)
        model = Reader(8)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for step in range(60):
            tokens = torch.randint(0, 20, (16, 9 if step < 20 else 17))
            loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """)
    assert findings(report) == wanted, report.exit_reason
    assert report.findings[0].step_first >= 21


def test_a_generator_that_is_cut_off_is_found_however_long_it_trains() -> None:
    """Its samples are made before the step of the other network, so that samples of steps may not see them made."""
    report, wanted = check("""
        import torch
        from torch import nn

        torch.manual_seed(0)
        maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        judge = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
        of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
        of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
        agrees = nn.BCEWithLogitsLoss()
        yes, no = torch.ones(32, 1), torch.zeros(32, 1)
        for _ in range(150):
            of_judge.zero_grad()
            real, made = torch.randn(32, 2) + 2, maker(torch.randn(32, 4))
            loss = agrees(judge(real), yes) + agrees(judge(made.detach()), no)
            loss.backward()
            of_judge.step()
            of_maker.zero_grad()
            loss = agrees(judge(made.detach()), yes)  # <- AD202
            loss.backward()
            of_maker.step()
    """)
    assert [found for found in findings(report) if found[0] == "AD202"] == wanted
    assert report.exit_code == 1
