"""Count the rows of a table as they end, for the log and for whoever looks on."""

from __future__ import annotations

import logging

from flows.steps import progress
from ssi_core.types import Inapplicable

logger = logging.getLogger(__name__)

_LEVELS = {"is left out": logging.WARNING, "failed": logging.ERROR}


class Tally:
    """Rows that have ended, counted, and the errors of those that failed, by their names."""

    def __init__(self, rows: int) -> None:
        self._rows, self._ended = rows, 0
        self.failed: dict[str, BaseException] = {}
        self._tell = progress(f"{rows} rows")
        self._tell(0.0, "0 done, 0 failed")

    def ended(self, name: str, error: BaseException | None) -> None:
        """Count a row that has ended, and its error if it has one."""
        self._ended += 1
        if error is None:
            logger.info("%s is done, %d of %d", name, self._ended, self._rows)
        else:
            what = "is left out" if isinstance(error, Inapplicable) else "failed"
            logger.log(_LEVELS[what], "%s %s: %s", name, what, error)
            self.failed[name] = error
        self._tell(self._ended / self._rows, f"{self._ended} done, {len(self.failed)} failed")
