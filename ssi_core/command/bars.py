"""Bars on a terminal: one a line of work, with a message and the time that is left."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from ssi_core.command.screen import Screen
from ssi_core.face.progress import left_of

_WIDTH = 12
"""Columns of a bar; what is said beside it tells more."""


@dataclass
class _Bar:
    """Line of progress: its start, and the estimate of its end at its last step."""

    task: TaskID
    began: float
    first: float
    fraction: float = -1.0
    end: float | None = None

    def step(self, fraction: float, now: float) -> float | None:
        """Take over how much is done; return the seconds that are left, None if nobody knows."""
        if fraction < self.fraction:  # another phase of the work has begun
            self.began, self.first, self.end = now, fraction, None
        if fraction != self.fraction and fraction > self.first:
            spent = now - self.began
            self.end = now + spent * (1 - fraction) / (fraction - self.first)
        self.fraction = fraction
        return None if self.end is None else max(0.0, self.end - now)


class Bars:
    """Bars on standard error for the length of a ``with`` block; then they are gone."""

    def __init__(self) -> None:
        self._bars = Progress(
            # The name gives way where there is too little room.
            TextColumn("{task.description}", markup=False, table_column=_cut(ratio=1)),
            TextColumn("{task.fields[message]}", markup=False, table_column=_cut()),
            BarColumn(bar_width=_WIDTH),
            TextColumn("{task.fields[left]}", markup=False, table_column=Column(no_wrap=True)),
            console=Screen(sys.stderr),
            transient=True,
            expand=True,
        )
        self._shown: dict[str, _Bar] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bars.stop()

    def show(self, name: str, fraction: float | None, message: str) -> None:
        """Show how much of a work is done; None: nobody knows."""
        now = time.monotonic()
        if name not in self._shown:
            task = self._bars.add_task(name, total=None, message=message, left="")
            self._shown[name] = _Bar(task, now, fraction or 0.0)
        bar = self._shown[name]
        if fraction is None:
            self._bars.update(bar.task, message=message, left="")
            return
        left = left_of(bar.step(fraction, now))
        self._bars.update(bar.task, total=1.0, completed=fraction, message=message, left=left)

    def keep(self, names: set[str]) -> None:
        """Remove the bars of all other works."""
        for name in self._shown.keys() - names:
            self._bars.remove_task(self._shown.pop(name).task)


def _cut(ratio: int | None = None) -> Column:
    return Column(ratio=ratio, no_wrap=True, overflow="ellipsis")
