"""The console of a person: text is text, tables have the width there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ssi_core.face.show import shown

PIPED = 100
"""Columns in a pipe, so that what is printed there keeps still."""

WIDEST = 160
"""Columns at most: a longer line is hard to follow."""


class Screen(Console):
    """A console on which no text is markup, an emoji code or an order to the terminal."""

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file=file, markup=False, emoji=False, highlight=False)
        self.width = min(self.width, WIDEST) if self.is_terminal else PIPED

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a text for printing; here its characters are changed before they are counted."""
        return super().render_str(shown(text), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render anything; no text passes that `shown` would change."""
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(shown(text), style)
