"""The verb ``summary``: sentences that answer a query, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ssi_core.command.fields import PATH, argument, option
from ssi_core.command.models import experiment_run
from ssi_core.command.options import CONCEPTS, SAVE
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.summary.compare import Row
    from ssi_core.recorder import RowRecorder

_SHOWN = ("rouge1", "rougel", "rougesu")
"""Measures of the paper."""


@click.group(
    cls=Verbs,
    examples=(
        "ssi rank summary concepts corpus --out concepts",
        'ssi search MODEL "why did the ship sink" --summary 80 --concepts concepts',
        "ssi rank summary compare QMSum_train_val.tar.gz --concepts concepts",
    ),
)
def summary() -> None:
    """Summarise texts for a query: choose the sentences that answer it.

    A sentence is scored by the words that it shares with the query and with other sentences, and by
    the pages of a wiki that both name. 'ssi search --summary' does it for the documents found.
    """


@dataclass(frozen=True, kw_only=True)
class ConceptsSettings:
    """Settings of ``ssi rank summary concepts``."""

    collection: Path = argument("COLLECTION", type=PATH)
    out: Path = option(..., "Directory to write the concepts into.", type=PATH)


@summary.verb(ConceptsSettings, examples=("ssi rank summary concepts corpus --out concepts",))
def concepts(given: ConceptsSettings) -> Outcome:
    """Make concepts of the pages of a COLLECTION with texts and links.

    Every page is a concept, which its title, its redirects and the words of links name. From the
    texts follows how often a phrase is meant as a concept, and from the links how related two
    concepts are.
    """
    from ssi_core.guests.summary.concepts import ConceptBase

    with progress("concepts") as on_progress:
        base = ConceptBase.of(given.collection, on_progress)
    base.save(given.out)
    value = {
        "path": str(given.out),
        "concepts": len(base.titles),
        "phrases": len(base.phrases),
        "links": int(base.links_in.nnz),
        "language": base.language,
    }

    def show(console: Console) -> None:
        counts = (f"{value[name]:,} {name}" for name in ("concepts", "phrases", "links"))
        console.print(f"concepts {given.out}: {', '.join(counts)}")

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class OfFilesSettings:
    """Settings of ``ssi rank summary of``."""

    query: str = argument("QUERY")
    files: tuple[Path, ...] = argument("FILE")
    length: int = option(
        100,
        "Maximum number of words of the summary; its only sentence may have more.",
        metavar="WORDS",
        ge=1,
    )
    language: str | None = option(
        None, "Language of the texts. [default: that of the concepts, or guessed from the script]"
    )
    weighting: Literal["bm25", "tfidf", "graph"] | None = option(
        None, "How a sentence is scored. [default: bm25; graph with --concepts]"
    )
    concepts: Path | None = CONCEPTS


@summary.verb(
    OfFilesSettings,
    examples=('ssi rank summary of "why did the ship sink" ship.txt storm.txt --length 60',),
    name="of",
)
def of_files(given: OfFilesSettings) -> Outcome:
    """Summarise text files for a QUERY.

    A FILE is plain text in UTF-8; an empty line ends a sentence. The sentences come in the order of
    the files.
    """
    from ssi_core.corpus.inputs import LARGEST_LINE, read_text
    from ssi_core.corpus.language import guess_language
    from ssi_core.guests.summary.concepts import ConceptBase
    from ssi_core.guests.summary.summariser import sentences_of, summariser_for

    texts = [
        read_text(file, "Give plain text in UTF-8.", most=LARGEST_LINE) for file in given.files
    ]
    base = None if given.concepts is None else ConceptBase.load(given.concepts)
    if given.weighting == "bm25" and base is not None:
        raise click.UsageError("--weighting bm25 has no concepts: leave out one of the two.")
    summariser = summariser_for(
        base, **({} if given.weighting is None else {"weighting": given.weighting})
    )
    language = given.language or (guess_language(texts) if base is None else base.language)
    listed = sentences_of(texts, language, summariser.shortest)
    chosen, _ = summariser.answer(listed, given.query, given.length, language, base)
    shares = summariser.shares(listed, given.query, language, base)
    sentences = [
        {"file": str(given.files[listed[position].document]), "text": listed[position].text}
        for position in chosen
    ]

    def show(console: Console) -> None:
        from ssi_core.face.show import shown

        if not sentences:
            console.print("nothing to choose from: the files have no text")
        elif not shares:
            console.print(
                "no sentence shares a word with the query; these are the first:", style="dim"
            )
        for one in sentences:
            console.print(shown(one["text"]))

    return Outcome({"sentences": sentences, "answers": shares}, show)


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of ``ssi rank summary compare``."""

    data: Path = argument("DATA", type=PATH)
    concepts: Path | None = CONCEPTS
    length: int = option(250, "Number of words of a summary that are read.", metavar="WORDS", ge=1)
    rows: tuple[str, ...] = option(
        (),
        "Label of a row to compute. Can be repeated. [default: all rows]",
        flag="--row",
        metavar="LABEL",
    )
    save: Path | None = SAVE


@summary.verb(
    CompareSettings,
    examples=(
        "ssi rank summary compare debatepedia --length 12",
        "ssi rank summary compare QMSum_train_val.tar.gz --concepts concepts --save qmsum.json",
    ),
)
def compare(given: CompareSettings) -> Outcome:
    """Measure summaries by ROUGE, beside what a paper prints for other data.

    DATA is QMSum (its archive or folder: train chooses settings, val is measured) or the folder of
    Debatepedia (every second document chooses). Values are recall of the first --length words, with
    stems. Intervals and tests are over texts; each row is tested against TF-IDF of words and
    against the default, BM25. Rows of concepts need --concepts. With the workflow, each row is a
    run of the MLflow experiment "summaries".
    """
    from ssi_core.guests.summary.compare import compare as computed
    from ssi_core.guests.summary.compare import rows_named
    from ssi_core.guests.summary.concepts import ConceptBase
    from ssi_core.guests.summary.questions import read_questions

    chosen = rows_named(given.rows) if given.rows else None
    base = None if given.concepts is None else ConceptBase.load(given.concepts)
    with progress("read") as on_progress:
        questions = read_questions(given.data, on_progress)

    def recorded(row: Row) -> AbstractContextManager[RowRecorder | None]:
        settings = {} if row.summariser is None else asdict(row.summariser)
        parameters = {
            **settings,
            "words": given.length,
            "concepts": str(given.concepts and given.concepts.resolve()),
        }
        return experiment_run("summaries", row.label, given.data, parameters)

    with progress("summaries") as on_progress:
        result = computed(
            questions,
            base,
            words=given.length,
            rows=chosen,
            recorded=recorded,
            progress=on_progress,
        )
    if given.save is not None:
        write_result(given.save, result)

    def show(console: Console) -> None:
        _show_table(console, result)

    return Outcome(result, show)


def _show_table(console: Console, result: Mapping[str, Any]) -> None:
    """Print a table for each measure of the paper: mean, interval, difference, p."""
    from ssi_core.command.text import plain_table
    from ssi_core.guests.summary.rouge import TITLES

    for measure in _SHOWN:
        head = [TITLES[measure], "", "95 %", "no stems", "more", "p", "printed"]
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
                ]
            )
        console.print()
        console.print(plain_table(head, lines))
    tested = result["tested"]
    console.print(
        f"recall at {result['words']} words, {tested['queries']:,} queries on {tested['groups']:,} "
        f"texts; p: paired randomisation over texts against {result['baseline']}, corrected by "
        "Holm; printed: another data set (DUC 2005). CPU ms: "
        + ", ".join(f"{row['label']} {row['cpu_ms']:.1f}" for row in result["rows"]),
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
