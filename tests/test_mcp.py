"""`doctor mcp` as a client of the protocol's own SDK sees it."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from autograd_doctor.mistakes import Mistake
from autograd_doctor.serving.commands import Folder
from autograd_doctor.serving.told_progress import Course, Told, line_of, told_in
from tests.checks import marked_below
from tests.harness import ROOT

SICK = """\
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(40):
    x = torch.randn(16, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
"""


def served(folder: Path, visit: Callable[[Client], Awaitable[None]]) -> None:
    """Start a server for a folder, and let a client visit it."""

    async def main() -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = ["-m", "autograd_doctor", "mcp", "--folder", str(folder)]
        how = StdioServerParameters(command=sys.executable, args=command, env=environment)
        async with Client(stdio_client(how)) as client:
            await visit(client)

    anyio.run(main)


def test_from_a_fault_to_a_healthy_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SICK)
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, said: str | None) -> None:
        heard.append((done, total, said))

    async def asked(client: Client, tool: str, **what: Any) -> dict[str, Any]:
        heard.clear()
        answer = await client.call_tool(tool, what, progress_callback=progress)
        assert not answer.is_error, answer
        assert answer.structured_content is not None
        assert heard or tool == "finding"
        assert all(later[0] > earlier[0] for earlier, later in pairwise(heard))
        return answer.structured_content

    async def visit(client: Client) -> None:
        found = await asked(client, "check", target="train.py", seconds=0)
        assert (found["verdict"], found["exit_code"]) == ("faults", 1)
        (finding,) = found["findings"]
        assert (finding["code"], finding["path"], finding["line"], finding["proven"]) == ("AD101", "train.py", 9, None)
        whole = await asked(client, "finding", fingerprint=finding["fingerprint"])
        assert whole["finding"]["evidence"]["steps"] > 1
        mended = await asked(client, "fix", target="train.py", seconds=0, apply=True)
        assert (mended["exit_code"], mended["left"], mended["written"]) == (0, [], ["train.py"])
        assert mended["findings"][0]["proven"]
        healthy = await asked(client, "check", target="train.py", seconds=0, select=["AD101"], details=True)
        assert (healthy["exit_code"], healthy["report"]["verdict"]) == (0, "passed")
        last = await client.read_resource("doctor://report")
        assert '"verdict": "passed"' in last.contents[0].text  # type: ignore[union-attr]

    served(tmp_path, visit)
    assert "    optimizer.zero_grad()\n" in (tmp_path / "train.py").read_text()


def test_how_far_a_check_has_come_is_told_in_steps(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SICK.replace("range(40)", "range(1000)") + "    import time; time.sleep(0.02)\n")
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, said: str | None) -> None:
        heard.append((done, total, said))

    async def visit(client: Client) -> None:
        what = {"target": "train.py", "seconds": 0, "steps": 200}
        await client.call_tool("check", what, progress_callback=progress)

    served(tmp_path, visit)
    during = [(done, said) for done, total, said in heard if total == 200.0 and done >= 1]
    assert len({int(done) for done, _ in during}) > 1
    assert all(f"step {int(done)} of 200" in (said or "") for done, said in during)


def test_what_is_told_among_what_the_program_prints_is_taken_apart_from_it() -> None:
    told = Told(steps=12, wanted=30, said="training · step 12 of 30")
    assert told_in(f"50%|#### {line_of(told)}") == ("50%|#### ", told)
    assert told_in("RuntimeError: no") == ("RuntimeError: no", None)
    assert told_in(line_of(told)[:-3]) == ("", None)


def test_what_is_reported_only_grows_over_several_runs() -> None:
    course, reported = Course(0.0), []
    for now, (steps, wanted) in enumerate([(0, 30), (0, 30), (20, 30), (40, 30), (0, 30), (5, 30)], start=1):
        course.add(Told(steps, wanted, ""), float(now))
        reported.append(course.at(now + 0.5)[:2])
    assert all(later[0] > earlier[0] for earlier, later in pairwise(reported))
    assert [total for _, total in reported] == [30.0, 30.0, 30.0, None, None, None]
    assert [int(done) for done, _ in reported] == [0, 0, 20, 40, 40, 45]


def test_a_cancelled_check_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("open('begun.txt', 'w').close()\nwhile True: pass\n")

    async def visit(client: Client) -> None:
        with anyio.move_on_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "check", {"target": "train.py"})
                while not (tmp_path / "begun.txt").exists():
                    await anyio.sleep(0.1)
                tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            while marked_below(tmp_path):
                await anyio.sleep(0.1)

    served(tmp_path, visit)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_nothing_outside_of_the_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "out.py").symlink_to(tmp_path / "elsewhere.py")
    for name in ("../train.py", str(tmp_path / "train.py"), "a/../../train.py", "out.py", "../train.py:main"):
        with pytest.raises(Mistake, match="lies outside of"):
            Folder(folder).target(name)
    with pytest.raises(Mistake, match="expected a path or a name, found `--apply`"):
        Folder(folder).target("--apply")
    assert Folder(folder).target("pkg.train:main") == "pkg.train:main"
    assert Folder(folder).target(str(folder / "train.py")) == "train.py"


def test_the_rules_and_a_mistake_are_told(tmp_path: Path) -> None:
    async def visit(client: Client) -> None:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"check", "fix", "profile", "report", "compare", "finding", "explain", "rules"}
        page = await client.read_resource("doctor://rules/AD101")
        assert "missing-zero-grad" in page.contents[0].text  # type: ignore[union-attr]
        wrong = await client.call_tool("check", {"target": "../train.py"})
        assert wrong.is_error
        assert "lies outside of" in wrong.content[0].text  # type: ignore[union-attr]
        gone = await client.call_tool("check", {"target": "train.py"})
        assert gone.structured_content == {"exit_code": 2, "error": "error: train.py: no such file"}

    served(tmp_path, visit)
