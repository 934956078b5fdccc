"""Bars on a terminal: one a line of work, with a message and the time that is left.

A process has one display, whoever shows something on it (`bars`). It stays alive while nothing is
told: the time that has passed stands where nobody knows what is left.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from ssi_core.face.screen import Screen
from ssi_core.face.show import duration
from ssi_core.types import Progress as Tell

_WIDTH = 12
"""Columns of a bar; what is said beside it tells more."""
_SOON = 5.0
"""Seconds of a phase until the time that is left is told."""
_REFRESHED = 5
"""Times a second that the lines are drawn."""


@dataclass
class Bar:
    """Line of progress: its start, that of its phase, and the estimate of its end."""

    task: TaskID
    began: float
    phase: float
    first: float = 0.0
    fraction: float = -1.0
    end: float | None = None

    def step(self, fraction: float | None, now: float) -> None:
        """Take over how much is done; None: nobody knows."""
        if fraction is None or fraction < self.fraction:  # another phase of the work has begun
            self.phase, self.first, self.end = now, fraction or 0.0, None
        elif fraction != self.fraction and fraction > self.first:
            spent = now - self.phase
            self.end = now + spent * (1 - fraction) / (fraction - self.first)
        self.fraction = -1.0 if fraction is None else fraction

    def clock(self, now: float) -> str:
        """Write the time that is left; while it is not known, the time that has passed."""
        if self.end is None or now > self.end or now - self.phase < _SOON:
            return duration(now - self.began)
        return f"{duration(self.end - now)} left"


class _Clock(ProgressColumn):
    """The time of a line, at each moment."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["bar"].clock(time.monotonic()))


class Bars:
    """Bars on standard error for the length of a ``with`` block; then they are gone."""

    def __init__(self) -> None:
        self._bars = Progress(
            # The name gives way where there is too little room.
            TextColumn("{task.description}", markup=False, table_column=_cut(ratio=1)),
            TextColumn("{task.fields[message]}", markup=False, table_column=_cut()),
            BarColumn(bar_width=_WIDTH),
            _Clock(table_column=Column(no_wrap=True, justify="right")),
            console=Screen(sys.stderr),
            refresh_per_second=_REFRESHED,
            transient=True,
            expand=True,
            redirect_stdout=sys.stdout.isatty(),
        )
        self._shown: dict[str, Bar] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bars.stop()

    def show(self, name: str, fraction: float | None, message: str) -> None:
        """Show how much of a work is done; None: nobody knows."""
        now = time.monotonic()
        if name not in self._shown:
            bar = Bar(TaskID(0), now, now, fraction or 0.0)
            bar.task = self._bars.add_task(name, total=None, message=message, bar=bar)
            self._shown[name] = bar
        bar = self._shown[name]
        bar.step(fraction, now)
        task = next(one for one in self._bars.tasks if one.id == bar.task)
        task.total = None if fraction is None else 1.0
        self._bars.update(bar.task, completed=fraction or 0.0, message=message)

    def remove(self, name: str) -> None:
        """Remove the bar of a work that is over."""
        if (bar := self._shown.pop(name, None)) is not None:
            self._bars.remove_task(bar.task)

    @contextmanager
    def line(self, name: str) -> Iterator[Tell]:
        """Show a work for the length of a block; give what tells how much of it is done.

        A work within one of the same name has its line, and gives it back.
        """
        within = name in self._shown
        self.show(name, None, "")
        try:
            yield lambda fraction, message: self.show(name, fraction, message)
        finally:
            if within:
                self.show(name, None, "")
            else:
                self.remove(name)


_open: list[Bars] = []


@contextmanager
def bars() -> Iterator[Bars]:
    """Give the display of this process, which is made if there is none."""
    if _open:
        yield _open[0]
        return
    with Bars() as made:
        _open.append(made)
        try:
            yield made
        finally:
            _open.clear()


def _cut(ratio: int | None = None) -> Column:
    return Column(ratio=ratio, no_wrap=True, overflow="ellipsis")
