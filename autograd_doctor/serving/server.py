"""The tools and resources that a client finds: checks, changes, profiles, the catalogue, and saved reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from autograd_doctor import __version__
from autograd_doctor.mistakes import Mistake
from autograd_doctor.renderers import render
from autograd_doctor.report import Report, ReportError, from_json
from autograd_doctor.serving.commands import Done, Folder, run

INSTRUCTIONS = """\
autograd_doctor runs a PyTorch training program, unmodified, for a few steps, and reports faults that it observed: each
with the line, what was measured, and the change. Call `check` before a long training, and after each change of training
code. Call `fix` for changes that are proven by a second run; it writes nothing unless `apply` is true. The verdict
"passed" means that nothing wrong was seen in the steps that were watched, by the checks that could look: read
`not_checked` and `not_judged`. It does not mean that the model learns well.
"""
Target = Annotated[
    str,
    Field(
        description="A Python file, notebook, `MODULE:FUNCTION`, or with `module` a dotted name; inside of the folder"
    ),
]
Arguments = Annotated[tuple[str, ...], Field(description="Command-line arguments of the program")]
Module = Annotated[bool, Field(description="Run the target as `python -m` does")]
Steps = Annotated[int | None, Field(description="At least so many optimizer steps are watched (30)", ge=1)]
Seconds = Annotated[float | None, Field(description="At least so many seconds of training are watched (10)", ge=0)]
MaxSeconds = Annotated[float | None, Field(description="And no more than these (60)", gt=0)]
Rules = Annotated[tuple[str, ...], Field(description="Codes, names or prefixes of rules, such as AD101 or AD1")]
Details = Annotated[bool, Field(description="The whole report, by its schema, instead of a summary")]
Config = Annotated[str, Field(description="A settings file; else the one beside the target counts")]


class Doctor:
    """The server, and the last report that it has made."""

    def __init__(self, folder: Path) -> None:
        self.folder = Folder(folder)
        self.last: Report | None = None
        self.server = MCPServer("autograd_doctor", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
        for tool in (
            self.check,
            self.fix,
            self.profile,
            self.finding,
            self.explain,
            self.rules,
            self.report,
            self.compare,
        ):
            self.server.tool()(tool)
        self.server.resource("doctor://report", mime_type="application/json")(self.last_report)
        self.server.resource("doctor://rules/{code}", mime_type="text/plain")(self.explain)

    # ------------------------------------------------------------------------------------------------------------ runs

    async def check(
        self,
        target: Target,
        ctx: Context[Any, Any],
        arguments: Arguments = (),
        module: Module = False,
        steps: Steps = None,
        seconds: Seconds = None,
        max_seconds: MaxSeconds = None,
        select: Rules = (),
        ignore: Rules = (),
        config: Config = "",
        details: Details = False,
    ) -> dict[str, Any]:
        """Run a training program for a few steps under instruments, and report its faults. Files are put back."""
        how = _how_long(steps, seconds, max_seconds) + _which(select, ignore) + self._settings(config)
        return await self._reported("check", how, target, arguments, module, ctx, details=details)

    async def fix(
        self,
        target: Target,
        ctx: Context[Any, Any],
        arguments: Arguments = (),
        module: Module = False,
        steps: Steps = None,
        seconds: Seconds = None,
        max_seconds: MaxSeconds = None,
        select: Rules = (),
        ignore: Rules = (),
        config: Config = "",
        apply: Annotated[bool, Field(description="Write the proven changes into the files")] = False,
        details: Details = False,
    ) -> dict[str, Any]:
        """Check a program, make changes for what is found, and prove each by running the program again with it."""
        how = _how_long(steps, seconds, max_seconds) + _which(select, ignore) + self._settings(config)
        return await self._reported(
            "fix", [*how, *["--apply"] * apply], target, arguments, module, ctx, details=details
        )

    async def profile(
        self,
        target: Target,
        ctx: Context[Any, Any],
        arguments: Arguments = (),
        module: Module = False,
        steps: Steps = None,
        max_seconds: MaxSeconds = None,
        config: Config = "",
    ) -> dict[str, Any]:
        """Measure where the time and the memory of a training iteration go, by what it does, by module and by line."""
        how = _how_long(steps, None, max_seconds) + self._settings(config)
        return await self._reported("profile", how, target, arguments, module, ctx, details=False, drawn="full")

    # ------------------------------------------------------------------------------------------- what is known already

    async def finding(self, fingerprint: str) -> dict[str, Any]:
        """One finding of the last report with all that is known of it, by its fingerprint."""
        for each in self.last.findings if self.last is not None else ():
            if each.fingerprint == fingerprint:
                return {"finding": _plain(each)}
        known = [f"{each.fingerprint} ({each.code})" for each in self.last.findings] if self.last is not None else []
        return {"error": f"no such finding in the last report; there are: {', '.join(known) or 'none'}"}

    async def explain(self, code: str) -> str:
        """The page of a rule: what it observes, why that is bad, how to fix it, when it is fine, two programs."""
        return (await self._asked("explain", ["--", code])).strip()

    async def rules(self) -> str:
        """All rules, by code and name."""
        return await self._asked("rules", [])

    async def report(self, file: str, ctx: Context[Any, Any], details: bool = False) -> dict[str, Any]:
        """Read a saved report, or judge a saved trace again, without running the program."""
        with _told_clearly():
            path = self.folder.file(file, "file")
        return self._told(await self._run(["report", "--output-format", "json", path], ctx), details=details)

    async def compare(
        self, before: str, after: str, ctx: Context[Any, Any], fail_on_slower: str = "", fail_on_larger: str = ""
    ) -> dict[str, Any]:
        """Compare two saved profiles: what became slower or larger, beyond the noise. Limits are percentages: "10%"."""
        limits = [f"--fail-on-slower={fail_on_slower}"] * bool(fail_on_slower)
        limits += [f"--fail-on-larger={fail_on_larger}"] * bool(fail_on_larger)
        with _told_clearly():
            files = [self.folder.file(before, "before"), self.folder.file(after, "after")]
        done = await self._run(["compare", "--output-format", "json", *limits, *files], ctx)
        return {"exit_code": done.exit_code, **_parsed(done)}

    async def last_report(self) -> str:
        """The last report that this server has made, by the report's schema; null if there is none."""
        return json.dumps(_plain(self.last))

    # -------------------------------------------------------------------------------------------------------- plumbing

    def _settings(self, config: str) -> list[str]:
        with _told_clearly():
            return [f"--config={self.folder.file(config, 'config')}"] if config else []

    async def _reported(
        self,
        command: str,
        how: Sequence[str],
        target: str,
        arguments: Sequence[str],
        module: bool,
        ctx: Context[Any, Any],
        *,
        details: bool,
        drawn: str = "agent",
    ) -> dict[str, Any]:
        with _told_clearly():
            named = self.folder.target(target)
        what = ["-m", target] if module else [named]
        done = await self._run([command, "--output-format", "json", *how, *what, *arguments], ctx)
        return self._told(done, details=details, drawn=drawn)

    async def _run(self, words: Sequence[str], ctx: Context[Any, Any]) -> Done:
        return await run(self.folder, words, ctx.report_progress)

    async def _asked(self, command: str, words: Sequence[str]) -> str:
        async def nobody(done: float, total: float | None, said: str) -> None:
            """It takes a fraction of a second."""

        done = await run(self.folder, [command, *words], nobody)
        return done.out if not done.exit_code else "\n".join(done.said)

    def _told(self, done: Done, *, details: bool, drawn: str = "agent") -> dict[str, Any]:
        """A report as the client gets it; what was said instead where there is none."""
        try:
            report = from_json(done.out.encode())
        except ReportError:
            return {"exit_code": done.exit_code, "error": "\n".join(done.said) or "the doctor printed no report"}
        self.last = report
        if details:
            return {"exit_code": done.exit_code, "report": _plain(report)}
        return {"exit_code": done.exit_code, **_short(report), "text": render(drawn, report, width=100)}


@contextmanager
def _told_clearly() -> Iterator[None]:
    """A mistake in what was asked for is said to the client, in one line."""
    try:
        yield
    except Mistake as mistake:
        raise ToolError(str(mistake)) from None


def _how_long(steps: int | None, seconds: float | None, max_seconds: float | None) -> list[str]:
    asked = {"--steps": steps, "--seconds": seconds, "--max-seconds": max_seconds}
    return [f"{option}={value}" for option, value in asked.items() if value is not None]


def _which(select: Sequence[str], ignore: Sequence[str]) -> list[str]:
    return [f"--select={each}" for each in select] + [f"--ignore={each}" for each in ignore]


def _short(report: Report) -> dict[str, Any]:
    """What decides what to do next; `finding` has the rest."""
    return {
        "verdict": report.verdict,
        "not_judged": report.exit_reason if report.verdict not in ("passed", "faults") else "",
        "findings": [
            {
                "fingerprint": each.fingerprint,
                "code": each.code,
                "name": each.name,
                "severity": each.severity,
                "confidence": each.confidence,
                "path": each.location.path if each.location else "",
                "line": each.location.line if each.location else 0,
                "fix": each.fix.description if each.fix else "",
                "proven": each.fix.proof.proven if each.fix and each.fix.proof else None,
            }
            for each in report.findings
        ],
        "not_checked": report.checks.skipped,
        "left": report.fixing.left if report.fixing else None,
        "written": report.fixing.written if report.fixing else [],
    }


def _parsed(done: Done) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(done.out)
    except ValueError:
        return {"error": "\n".join(done.said)}
    return found


def _plain(value: object) -> Any:
    return msgspec.to_builtins(value)
