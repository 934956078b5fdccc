"""Documents that were found, as verbs print them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from ssi_core.command.verb import Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ssi_core.serving.ranked import Hit
    from ssi_core.serving.searcher import Answer
    from ssi_core.serving.summaries import Summary

_BELOW = (0, 0, 0, 4)  # what is below a title begins as it does


def outcome_of(
    answer: Answer,
    summary: Summary | None = None,
    recall: float | None = None,
    unknown: Mapping[str, str | None] | None = None,
) -> Outcome:
    """Return an answer as JSON and as text, after its summary if it has one.

    Parameters
    ----------
    recall : float or None
        Of an approximate search, as measured.
    unknown : mapping, optional
        Words of the query that the model does not know, each with one that is spelled like it.
    """
    value: dict[str, object] = {"results": [asdict(hit) for hit in answer.hits]}
    if summary is not None:
        value["summary"] = asdict(summary)
    if recall is not None:
        value["recall"] = recall
    if answer.reason is not None:
        value["reason"] = answer.reason
    if unknown:
        value["unknown"] = dict(unknown)

    def show(console: Console) -> None:
        from ssi_core.face.show import shown
        from ssi_core.serving.nothing import nothing_found

        if answer.reason is not None:
            console.print(nothing_found(answer.reason))
        for word, near in (unknown or {}).items():
            console.print(shown(_unknown(word, near)), markup=False)
        if summary is not None and answer.hits:
            show_summary(console, summary)
            console.print()
        for number, hit in enumerate(answer.hits, 1):
            _show_hit(console, number, hit)
        if answer.hits and all(hit.snippet is None for hit in answer.hits):
            console.print(
                "The index keeps no texts to show a part of (ssi data index --with-texts)."
            )
        if recall is not None:
            console.print(f"approximate, recall {recall:.3f}")

    return Outcome(value, show)


def _unknown(word: str, near: str | None) -> str:
    from ssi_core.serving.query_words import without_accents

    said = f"no text has the word {word!r}"
    if near is None:
        return f"{said}."
    same = without_accents(word) == without_accents(near)
    return f"{said}; searched for {near!r}." if same else f"{said}; did you mean {near!r}?"


def _show_hit(console: Console, position: int, hit: Hit) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from ssi_core.face.show import shown

    head = Table.grid(expand=True, padding=(0, 1))
    head.add_column(width=3, justify="right")
    head.add_column(ratio=1)
    head.add_column(justify="right")
    head.add_row(str(position), Text(shown(hit.title), "bold"), f"{hit.score:.4f}")
    console.print(head)
    if hit.url:
        console.print(Padding(Text(shown(hit.url), "dim"), _BELOW))
    if hit.fields:
        console.print(Padding(Text(f"found in {', '.join(hit.fields)}", "dim"), _BELOW))
    if hit.snippet:
        console.print(Padding(_marked(hit.snippet, hit.marks), _BELOW))


def _marked(text: str, marks: Iterable[tuple[int, int]]) -> Text:
    from rich.text import Text

    from ssi_core.face.show import shown

    part, last = Text(), 0
    for start, end in marks:
        part.append(shown(text[last:start]))
        part.append(shown(text[start:end]), "bold yellow")
        last = end
    return part.append(shown(text[last:]))


def show_summary(console: Console, summary: Summary) -> None:
    """Print the sentences of a summary, each with the document that it is from."""
    from ssi_core.face.show import shown

    if summary.reason is not None:
        console.print(f"no summary: {summary.reason}")
    for one in summary.sentences:
        console.print(_marked(one.text, one.marks).append(f" ({shown(one.title)})", "dim"))
