"""The verb ``summary``: sentences that answer a query, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.hits import CONCEPTS
from ssi_core.command.models import experiment_run
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verb, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.summary.compare import Row
    from ssi_core.recorder import RowRecorder

_PATH = click.Path(path_type=Path)
_SHOWN = ("rouge1", "rougel", "rougesu")
"""Measures of the paper."""


@click.group(
    cls=Verbs,
    examples=(
        "ssi summary concepts corpus --out concepts",
        'ssi search MODEL "why did the ship sink" --summary 80 --concepts concepts',
        "ssi summary compare QMSum_train_val.tar.gz --concepts concepts",
    ),
)
def summary() -> None:
    """Summarise texts for a query: choose the sentences that answer it.

    A sentence is scored by the words that it shares with the query and with other sentences, and by
    the pages of a wiki that both name. 'ssi search --summary' does it for the documents found.
    """


@summary.command(cls=Verb, examples=("ssi summary concepts corpus --out concepts",))
@click.argument("collection", type=_PATH)
@click.option("--out", type=_PATH, required=True, help="Directory of the concepts to write.")
def concepts(collection: Path, out: Path) -> Outcome:
    """Make concepts of the pages of a COLLECTION with texts and links.

    Every page is a concept, which its title, its redirects and the words of links name. From the
    texts follows how often a phrase is meant as a concept, and from the links how related two
    concepts are.
    """
    from ssi_core.guests.summary.concepts import ConceptBase

    with progress("concepts") as tell:
        base = ConceptBase.of(collection, tell)
    base.save(out)
    value = {
        "path": str(out),
        "concepts": len(base.titles),
        "phrases": len(base.phrases),
        "links": int(base.links_in.nnz),
        "language": base.language,
    }

    def show(console: Console) -> None:
        counts = (f"{value[name]:,} {name}" for name in ("concepts", "phrases", "links"))
        console.print(f"concepts {out}: {', '.join(counts)}")

    return Outcome(value, show)


@summary.command(
    name="of",
    cls=Verb,
    examples=('ssi summary of "why did the ship sink" ship.txt storm.txt --words 60',),
)
@click.argument("query")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_PATH)
@click.option("--words", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--lang", default="en", show_default=True, help="Language of the texts.")
@click.option(
    "--weighting",
    type=click.Choice(["bm25", "tfidf", "graph"]),
    help="Score of a sentence. [default: bm25; graph with --concepts]",
)
@CONCEPTS
def of_files(
    query: str,
    files: tuple[Path, ...],
    words: int,
    lang: str,
    weighting: str | None,
    concepts: Path | None,
) -> Outcome:
    """Summarise text files for a QUERY.

    A FILE is plain text in UTF-8; an empty line ends a sentence. The sentences come in the order of
    the files.
    """
    from ssi_core.corpus.inputs import LARGEST_LINE, read_text
    from ssi_core.guests.summary.concepts import ConceptBase
    from ssi_core.guests.summary.summariser import sentences_of, summariser_for

    texts = [read_text(file, "Give plain text in UTF-8.", most=LARGEST_LINE) for file in files]
    base = None if concepts is None else ConceptBase.load(concepts)
    if weighting == "bm25" and base is not None:
        raise click.UsageError("--weighting bm25 has no concepts: leave out one of the two.")
    summariser = summariser_for(base, **({} if weighting is None else {"weighting": weighting}))
    listed = sentences_of(texts, lang, summariser.shortest)
    chosen, _ = summariser.answer(listed, query, words, lang, base)
    sentences = [
        {"file": str(files[listed[place].document]), "text": listed[place].text} for place in chosen
    ]

    def show(console: Console) -> None:
        from ssi_core.command.text import shown

        for one in sentences:
            console.print(shown(one["text"]))

    return Outcome({"sentences": sentences}, show)


@summary.command(
    cls=Verb,
    examples=(
        "ssi summary compare debatepedia --words 12",
        "ssi summary compare QMSum_train_val.tar.gz --concepts concepts --save qmsum.json",
    ),
)
@click.argument("data", type=_PATH)
@CONCEPTS
@click.option("--words", type=click.IntRange(min=1), default=250, show_default=True)
@click.option("--rows", metavar="LABEL;LABEL", help="Labels of rows, with ; between; else all.")
@click.option("--save", type=_PATH, metavar="FILE", help="Write the result as JSON.")
def compare(
    data: Path, concepts: Path | None, words: int, rows: str | None, save: Path | None
) -> Outcome:
    """Measure summaries by ROUGE, beside what a paper prints for other data.

    DATA is QMSum (its archive or folder: train chooses settings, val is measured) or the folder of
    Debatepedia (every second document chooses). Values are recall of the first --words words, with
    stems. Intervals and tests are over texts; each row is tested against TF-IDF of words and
    against the default, BM25. Rows of concepts need --concepts. With the workflow, each row is a
    run of the MLflow experiment "summaries".
    """
    from ssi_core.guests.summary.compare import compare as computed
    from ssi_core.guests.summary.compare import rows_named
    from ssi_core.guests.summary.concepts import ConceptBase
    from ssi_core.guests.summary.questions import read_questions

    chosen = None if rows is None else rows_named(tuple(rows.split(";")))
    base = None if concepts is None else ConceptBase.load(concepts)
    with progress("read") as tell:
        questions = read_questions(data, tell)

    def recorded(row: Row) -> AbstractContextManager[RowRecorder | None]:
        settings = {} if row.summariser is None else asdict(row.summariser)
        parameters = {**settings, "words": words, "concepts": str(concepts and concepts.resolve())}
        return experiment_run("summaries", row.label, data, parameters)

    with progress("summaries") as tell:
        result = computed(
            questions, base, words=words, rows=chosen, recorded=recorded, progress=tell
        )
    if save is not None:
        write_result(save, result)

    def show(console: Console) -> None:
        _show_table(console, result)

    return Outcome(result, show)


def _show_table(console: Console, result: Mapping[str, Any]) -> None:
    """Print a table for each measure of the paper: mean, interval, difference, p."""
    from ssi_core.command.text import plain_table
    from ssi_core.guests.summary.rouge import TITLES

    for measure in _SHOWN:
        head = [TITLES[measure], "", "95 %", "no stems", "difference", "p", "printed", "CPU ms"]
        lines = []
        for row in result["rows"]:
            test = row.get("tests", {}).get(measure)
            printed = row["printed"].get(measure)
            low, high = row["intervals"][measure]
            lines.append(
                [
                    row["label"],
                    f"{row['means'][measure]:.4f}",
                    f"{low:.3f}-{high:.3f}",
                    f"{row['means'][f'{measure}_plain']:.4f}",
                    "" if test is None else f"{test['difference']:+.4f}",
                    "" if test is None else f"{test['p_holm']:.3f}",
                    "" if printed is None else f"{printed:.4f}",
                    f"{row['cpu_ms']:.1f}",
                ]
            )
        console.print()
        console.print(plain_table(head, lines))
    tested = result["tested"]
    console.print(
        f"recall at {result['words']} words, {tested['queries']:,} queries on {tested['groups']:,} "
        f"texts; p: paired randomisation over texts against {result['baseline']}, corrected by "
        "Holm; printed: another data set (DUC 2005)",
        style="dim",
    )
    if result["left_out"]:
        console.print(f"left out without --concepts: {'; '.join(result['left_out'])}", style="dim")
    if any("tests_default" in row for row in result["rows"]):
        beaters = [(name, result["default_beaten_by"][name]) for name in _SHOWN]
        beaten = [f"{', '.join(rows)} in {TITLES[name]}" for name, rows in beaters if rows]
        console.print(
            f"{result['default']}, the default, is significantly below "
            f"{'; '.join(beaten) or 'no row'} (p < .05, corrected by Holm)"
        )
