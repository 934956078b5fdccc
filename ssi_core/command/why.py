"""The verb that tells why a document is not among the first: why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_core.command.fields import argument, option
from ssi_core.command.options import INDEX
from ssi_core.command.search import searcher_of
from ssi_core.command.verb import Outcome, verb

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class WhySettings:
    """Settings of ``ssi why``."""

    model: str = argument("MODEL")
    query: str = argument("QUERY")
    document: str = argument("DOCUMENT")
    k: int = option(10, "Number of places.", ge=1)
    index: Path | None = INDEX


@verb(
    WhySettings,
    examples=(
        'ssi why models:/ssi@champion "old automobile" "Wheel"',
        'ssi why model "moon landing" "Apollo 11" -k 3 --json',
    ),
)
def why(given: WhySettings) -> Outcome:
    """Tell why a document is not among the first.

    DOCUMENT is its title or id. Shown are its place and its score, the words of the query that hold
    the document in place k above it, the words that it lacks, and the smallest change that brings
    it among the first k: up to three words as another name, as a heading or in its text, but never
    all words of the query. The place after the change is computed with the changed document, not
    estimated.
    """
    from ssi_core.serving.why import why as reasons

    answer = reasons(searcher_of(given.model, given.index), given.query, given.document, given.k)

    def show(console: Console) -> None:
        for line in answer.lines():
            console.print(line, markup=False, highlight=False, soft_wrap=False)

    return Outcome(asdict(answer), show)
