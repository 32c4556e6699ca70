"""Cells of a notebook in a trace: whoever reads it elsewhere finds neither IPython's numbers there nor the source."""

from __future__ import annotations

from autograd_doctor.events.run import CellRan
from autograd_doctor.instruments.session import Session
from autograd_doctor.reading.ipython_cells import ran_cells


class CellsTold:
    """States each cell that holds places of the program, again where it has run again."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._numbers: dict[str, int] = {}

    def tell(self) -> None:
        """State those that are new."""
        try:
            for cell in ran_cells():
                if self._numbers.get(cell.file) != cell.number:
                    self._numbers[cell.file] = cell.number
                    self._session.emit(CellRan(file=cell.file, number=cell.number, text=cell.text))
        except Exception as error:
            self._session.failed("runner", "cells", error)
