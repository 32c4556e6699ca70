"""Help that shows what one types: a flag takes no value, so that none is named beside it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption


def _without_values(params: list[Any]) -> list[Any]:
    for each in params:
        if isinstance(each, TyperOption) and each.is_flag and each.metavar is None:
            each.metavar = ""
    return params


class PlainCommand(TyperCommand):
    """A command with such help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options and arguments, and `--help`."""
        return _without_values(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands with such help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options, and `--help`."""
        return _without_values(super().get_params(ctx))
