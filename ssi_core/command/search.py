"""Verbs that ask a trained model: search, neighbours, explain, index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ssi_core.command.data import artefact_outcome
from ssi_core.command.fields import NEW_DIRECTORY, argument, option
from ssi_core.command.hits import outcome_of
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.options import (
    CONCEPTS,
    FORCE,
    INDEX,
    POPULARITY,
    TASK,
    ApproximateSettings,
    K,
)
from ssi_core.command.verb import Outcome, progress, verb
from ssi_core.root import store_path

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.serving.neighbours import Neighbour
    from ssi_core.serving.searcher import Searcher


def prepared(
    approximately: bool, recall: float, by: str = "graph"
) -> Callable[[Searcher], Searcher]:
    """Return what makes a searcher look at a part of the documents, or leaves it as it is."""
    if not approximately:
        return lambda searcher: searcher
    from ssi_core.serving.approximate import approximate

    place = store_path("graphs" if by == "graph" else "codes", "")
    return lambda searcher: approximate(searcher, place, recall, by)


def searcher_of(model: str, index: Path | None) -> Searcher:
    """Open the searcher of a MODEL, by its own index or by another one."""
    from ssi_core.serving.searcher import open_searcher

    return open_searcher(directory_of(model) if index else searchable(model), index)


@dataclass(frozen=True, kw_only=True)
class SearchSettings(ApproximateSettings):
    """Settings of ``ssi search``."""

    model: str = argument("MODEL")
    text: str = argument("TEXT")
    k: int = K
    index: Path | None = INDEX
    language: str | None = option(
        None,
        "Language of TEXT, such as ja: that of the queries or that of the documents. [default: "
        "that of the queries of the model]",
    )
    popularity: bool = POPULARITY
    summary: int | None = option(
        None,
        "Show a summary of the first five documents for TEXT, of at most WORDS words.",
        metavar="WORDS",
        ge=1,
        le=1000,
    )
    concepts: Path | None = CONCEPTS


@verb(
    SearchSettings,
    examples=(
        'ssi search models:/ssi@champion "old automobile"',
        'ssi search runs/abc "moon landing" -k 3 --json',
        'ssi search runs/abc "清水寺の舞台" --language ja',
    ),
)
def search(given: SearchSettings) -> Outcome:
    """Find documents for a text, best first.

    Each result has a title, an address, the fields in which words of TEXT occur, and the part of
    the text that contains most of these words. If only a heading contains some, that heading is
    shown; if nothing does, the beginning of the text. The fields are title, headings, text, url and
    anchors (the words of links that lead to the document). With --json, a result has `fields`, a
    `snippet`, and the character offsets of the words in it (`marks`). An index that was made
    without texts has none of these.

    By default every document is scored. With --approximate, only documents near the text and those
    that contain most of its words are scored; the structure that this needs is built once and kept.

    With --summary, the sentences of the documents that answer TEXT are shown first, each with its
    document, and a result shows its best sentence. With --concepts, sentences also match by related
    pages of a wiki.
    """
    if given.concepts is not None and given.summary is None:
        raise click.UsageError("--concepts goes with --summary.")
    from ssi_core.serving.summaries import summarise

    searcher = prepared(given.approximate, given.recall, given.by)(
        searcher_of(given.model, given.index)
    )
    answer = searcher.search([given.text], given.k, given.language, popularity=given.popularity)[0]
    summary = None
    if given.summary is not None:
        summary, answer = summarise()(
            searcher,
            given.text,
            answer,
            given.summary,
            concepts=given.concepts,
            language=given.language,
        )
    return outcome_of(answer, summary, recall=searcher.recall)


@dataclass(frozen=True, kw_only=True)
class NeighboursSettings:
    """Settings of ``ssi lab neighbours``."""

    model: str = argument("MODEL")
    words: tuple[str, ...] = argument("WORD")
    k: int = K
    dice: bool = option(False, "List words that occur in the same documents. MODEL is then a task.")
    frequent: int = option(
        30_000, "Number of the most frequent words to list from. Only with --dice.", ge=1
    )


@verb(
    NeighboursSettings,
    examples=(
        "ssi lab neighbours models:/ssi@champion car",
        "ssi lab neighbours runs/abc moon --json",
        'ssi lab neighbours task riemannian "pearl harbor" --dice -k 5',
    ),
)
def neighbours(given: NeighboursSettings) -> Outcome:
    """List the words that a model relates to a word.

    With --dice, MODEL is a task directory, and the words with the largest DICE coefficient are
    listed: 2 * documents with both / (documents with one + documents with the other). WORD may then
    be several words in quotes, if the task has a view of such runs of words (cfh:...,ngrams=2).
    """
    related_words = (
        _by_dice(Path(given.model), given.words, given.k, given.frequent)
        if given.dice
        else _by_model(given.model, given.words, given.k)
    )
    value = {
        "results": [
            {"asked": word, "id": n.word, "title": n.word, "score": n.score}
            for word, related in related_words.items()
            for n in related
        ]
    }

    def show(console: Console) -> None:
        for word, related in related_words.items():
            if len(related_words) > 1:
                console.print(word, style="bold")
            _show_ranked(console, "word", [(n.word, n.score) for n in related])

    return Outcome(value, show)


def _by_model(model: str, words: Sequence[str], k: int) -> dict[str, list[Neighbour]]:
    from ssi_core.models import load_model
    from ssi_core.serving.neighbours import neighbours as related
    from ssi_core.serving.searcher import model_in

    fitted = load_model(model_in(directory_of(model)))
    return {word: related(fitted, word, k) for word in words}


def _by_dice(task: Path, words: Sequence[str], k: int, most: int) -> dict[str, list[Neighbour]]:
    from ssi_core.serving.neighbours import dice_neighbours
    from ssi_core.tasks.task import open_task

    opened = open_task(task)
    return {word: dice_neighbours(opened, word, k, most) for word in words}


@dataclass(frozen=True, kw_only=True)
class ExplainSettings:
    """Settings of ``ssi explain``."""

    model: str = argument("MODEL")
    query: str = argument("QUERY")
    document: str = argument("DOCUMENT")
    k: int = option(20, "Number of pairs of words to show.", ge=1)
    popularity: bool = POPULARITY
    index: Path | None = INDEX


@verb(
    ExplainSettings,
    examples=(
        'ssi explain models:/ssi@champion "old automobile" "Car"',
        'ssi explain runs/abc "moon landing" "Apollo 11" -k 50 --json',
    ),
)
def explain(given: ExplainSettings) -> Outcome:
    """Take the score of a document apart into words.

    DOCUMENT is its title or id. The parts and the rest add up to the score. Each pair of words
    names the fields of the document that contain its word (title, headings, text, url, anchors);
    for BM25F, with the share of each field in the weight of the word. For a mixture with in_degree,
    the weight of popularity is shown too; --no-popularity leaves that term out. For a reranked
    document, its features are shown: the value of each, from 0 to 1 over the documents of the
    query, and its share, which is the loss in score if the feature were 0.
    """
    from ssi_core.serving.explain import explain as take_apart

    searcher = searcher_of(given.model, given.index)
    parts = take_apart(searcher, given.query, given.document, given.k, popularity=given.popularity)
    value = {
        "score": parts.score,
        "parts": [asdict(part) for part in parts.parts],
        "rest": parts.rest,
        "popularity": None if parts.popularity is None else asdict(parts.popularity),
        "features": [asdict(feature) for feature in parts.features],
    }

    def show(console: Console) -> None:
        from rich.table import Table

        words = ("feature", "value") if parts.features else ("query", "document", "found in")
        table = Table(*words, box=None, pad_edge=False)
        table.add_column("share" if parts.features else "part", justify="right")
        for part in parts.parts:
            table.add_row(part.query_word, part.document_word, part.where, f"{part.part:+.6f}")
        for feature in parts.features:
            table.add_row(feature.name, f"{feature.value:.3f}", f"{feature.share:+.6f}")
        nothing = [""] * (len(words) - 1)
        rest = "rest" if parts.features else "all other pairs"
        table.add_row(rest, *nothing, f"{parts.rest:+.6f}")
        table.add_row("score", *nothing, f"{parts.score:+.6f}")
        console.print(table)
        if (counted := parts.popularity) is not None:
            console.print(
                f"popularity: {counted.weight:g} ln(1 + links) = {counted.part:+.6f}",
                style="dim",
            )

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class IndexSettings:
    """Settings of ``ssi data index``."""

    model: str = argument("MODEL")
    task: Path = TASK
    out: Path = option(..., "Directory to write.", type=NEW_DIRECTORY)
    words: bool = option(
        True,
        "Keep the words of the documents, which 'ssi explain' needs. [default: --with-words]",
        flag="--with-words/--without-words",
    )
    texts: bool = option(
        True,
        "Keep the texts and addresses that results show. [default: --with-texts]",
        flag="--with-texts/--without-texts",
    )
    storage: Literal["float32", "float16"] = option(
        "float32", "Number format of the document vectors. float16 takes half of the bytes."
    )
    force: bool = FORCE


@verb(IndexSettings, examples=("ssi data index runs/abc --task task --out index",))
def index(given: IndexSettings) -> Outcome:
    """Index the documents of a task under a model."""
    from ssi_core.models import load_model
    from ssi_core.serving.cost import require_index
    from ssi_core.serving.index import build_index
    from ssi_core.serving.searcher import model_in
    from ssi_core.store import digest_file
    from ssi_core.tasks.fields import names_of_task
    from ssi_core.tasks.reading import raw_texts
    from ssi_core.tasks.task import open_task

    directory = model_in(directory_of(given.model))
    fitted, opened = load_model(directory), open_task(given.task)
    shown = raw_texts(given.task) if given.texts else []
    require_index(
        fitted.model, opened, given.out, words=given.words, texts=shown, storage=given.storage
    )
    files = sorted((directory / "arrays").glob("*.npy"))
    parents = {
        "task": opened.key,
        **{file.stem: digest_file(file) for file in (directory / "model.json", *files)},
    }
    with progress("index") as tell:
        artefact = build_index(
            fitted,
            opened.documents,
            given.out,
            parents=parents,
            words=given.words,
            texts=shown,
            names=names_of_task(given.task) if given.texts else None,
            storage=given.storage,
            force=given.force,
            progress=tell,
        )
    return artefact_outcome(artefact)


def _show_ranked(console: Console, what: str, ranked: list[tuple[str, float]]) -> None:
    from rich.table import Table

    if not ranked:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column(what)
    table.add_column("score", justify="right")
    for place, (name, score) in enumerate(ranked, 1):
        table.add_row(str(place), name, f"{score:.4f}")
    console.print(table)
