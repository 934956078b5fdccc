"""Verbs that ask a trained model: search, neighbours, explain, index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssi_core.command.data import FORCE, artefact_outcome
from ssi_core.command.hits import CONCEPTS, outcome_of
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.verb import Outcome, Verb, progress
from ssi_core.root import store_path

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.serving.index import Storage
    from ssi_core.serving.neighbours import Neighbour
    from ssi_core.serving.searcher import Searcher

INDEX = click.option(
    "--index",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Index of the documents; by default the model's own, which a run gets when it is first "
    "searched.",
)
POPULARITY = click.option(
    "--popularity/--no-popularity",
    default=True,
    help="Count the links to a document, where MODEL is a mixture with in_degree.",
)
APPROXIMATE = click.option(
    "--approximate",
    is_flag=True,
    help="Look at a part of the documents, as large as the recall needs.",
)


def _one_way(context: click.Context, option: click.Parameter, said: str | None) -> None:
    if said is not None:
        raise click.UsageError("--candidates: there is one kind now. Give --approximate alone.")


CANDIDATES = click.option("--candidates", hidden=True, expose_value=False, callback=_one_way)
RECALL = click.option(
    "--recall",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    help="With --approximate: share of the 10 best documents that is to be found.",
)
K = click.option("-k", type=click.IntRange(min=1), default=10, show_default=True)


def prepared(approximately: bool, recall: float) -> Callable[[Searcher], Searcher]:
    """Return what makes a searcher look at a part of the documents, or leaves it as it is."""
    if not approximately:
        return lambda searcher: searcher
    from ssi_core.serving.approximate import approximate

    place = store_path("codes", "")
    return lambda searcher: approximate(searcher, place, recall)


def searcher_of(model: str, index: Path | None) -> Searcher:
    """Open the searcher of a MODEL, by its own index or by another one."""
    from ssi_core.serving.searcher import open_searcher

    return open_searcher(directory_of(model) if index else searchable(model), index)


@click.command(
    cls=Verb,
    examples=(
        'ssi search models:/ssi@champion "old automobile"',
        'ssi search runs/abc "moon landing" -k 3 --json',
        'ssi search runs/abc "清水寺の舞台" --lang ja',
    ),
)
@click.argument("model")
@click.argument("text")
@K
@INDEX
@click.option(
    "--lang",
    help="Language of TEXT, such as ja: that of the model's queries (by default), or documents.",
)
@POPULARITY
@APPROXIMATE
@CANDIDATES
@RECALL
@click.option(
    "--summary",
    "words",
    type=click.IntRange(1, 1000),
    metavar="WORDS",
    help="Show a summary of the first five documents for TEXT, of so many words.",
)
@CONCEPTS
def search(
    model: str,
    text: str,
    k: int,
    index: Path | None,
    lang: str | None,
    popularity: bool,
    approximate: bool,
    recall: float,
    words: int | None,
    concepts: Path | None,
) -> Outcome:
    """Find documents for a text, best first.

    A result has a title, an address, the fields that have words of TEXT, and the part of its text
    with most of these words; where only a heading has some, the heading; where nothing has, the
    beginning. The fields are title, headings, text, url, and anchors, the words of links that lead
    to the document. With --json they are ``fields``, the part is ``snippet``, and ``marks`` are
    start and end of the words in it. An index that was made without texts has none of these.

    Every document is scored. With --approximate only those are that lie near the text, and those
    with most of its words; what that needs is made once, and kept.

    With --summary the sentences of the documents that answer TEXT come first, each with its
    document, and a result shows its best sentence. --concepts lets sentences match by related pages
    of a wiki, beside words.
    """
    if concepts is not None and words is None:
        raise click.UsageError("--concepts goes with --summary.")
    from ssi_core.serving.summaries import summarise

    searcher = prepared(approximate, recall)(searcher_of(model, index))
    answer = searcher.search([text], k, lang, popularity=popularity)[0]
    summary = None
    if words is not None:
        summary, answer = summarise()(
            searcher, text, answer, words, concepts=concepts, language=lang
        )
    return outcome_of(answer, summary, recall=searcher.recall)


@click.command(
    cls=Verb,
    examples=(
        "ssi neighbours models:/ssi@champion car",
        "ssi neighbours runs/abc moon --json",
        'ssi neighbours task riemannian "pearl harbor" --dice -k 5',
    ),
)
@click.argument("model")
@click.argument("words", metavar="WORD...", nargs=-1, required=True)
@K
@click.option("--dice", is_flag=True, help="MODEL is a task: words of the same documents.")
@click.option(
    "--frequent",
    type=click.IntRange(min=1),
    default=30_000,
    show_default=True,
    help="With --dice: of so many of the most frequent words.",
)
def neighbours(model: str, words: tuple[str, ...], k: int, dice: bool, frequent: int) -> Outcome:
    """List the words that a model relates to a word.

    With --dice, MODEL is a task directory, and the words are those with the largest DICE
    coefficient: 2 * documents with both / (documents with one + documents with the other). WORD
    may then be a run of words in quotes, if the task has a view of them (cfh:...,ngrams=2).
    """
    related_words = (
        _by_dice(Path(model), words, k, frequent) if dice else _by_model(model, words, k)
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


@click.command(
    cls=Verb,
    examples=(
        'ssi explain models:/ssi@champion "old automobile" "Car"',
        'ssi explain runs/abc "moon landing" "Apollo 11" -k 50 --json',
    ),
)
@click.argument("model")
@click.argument("query")
@click.argument("document")
@click.option("-k", type=click.IntRange(min=1), default=20, show_default=True)
@POPULARITY
@INDEX
def explain(
    model: str, query: str, document: str, k: int, popularity: bool, index: Path | None
) -> Outcome:
    """Take the score of a document apart into words.

    DOCUMENT is its title or id. The parts and the rest add up to the score. Each pair names the
    fields of the document that have its word (title, headings, text, url, anchors); of BM25F with
    the share of each field in the weight of the word. Of a mixture with
    in_degree the weight of popularity is shown, too; --no-popularity leaves the term out. Of a
    reranked document its features are shown: the value of each, 0 to 1 over the documents of the
    query, and its share, which is what the score loses where the feature is 0.
    """
    from ssi_core.serving.explain import explain as take_apart

    searcher = searcher_of(model, index)
    parts = take_apart(searcher, query, document, k, popularity=popularity)
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


@click.command(cls=Verb, examples=("ssi index runs/abc --task task --out index",))
@click.argument("model")
@click.option("--task", type=click.Path(path_type=Path), required=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--words/--no-words", default=True, help="Keep the words, which explain needs.")
@click.option(
    "--texts/--no-texts", default=True, help="Keep the texts and addresses that results show."
)
@click.option(
    "--storage",
    type=click.Choice(["float32", "float16"]),
    default="float32",
    show_default=True,
    help="Numbers of the documents' vectors; float16 takes half of their bytes.",
)
@FORCE
def index(
    model: str, task: Path, out: Path, words: bool, texts: bool, storage: Storage, force: bool
) -> Outcome:
    """Index the documents of a task under a model."""
    from ssi_core.models import load_model
    from ssi_core.serving.cost import require_index
    from ssi_core.serving.index import build_index
    from ssi_core.serving.searcher import model_in
    from ssi_core.store import digest_file
    from ssi_core.tasks.fields import names_of_task
    from ssi_core.tasks.reading import raw_texts
    from ssi_core.tasks.task import open_task

    directory = model_in(directory_of(model))
    fitted, opened = load_model(directory), open_task(task)
    shown = raw_texts(task) if texts else []
    require_index(fitted.model, opened, out, words=words, texts=shown, storage=storage)
    files = sorted((directory / "arrays").glob("*.npy"))
    parents = {
        "task": opened.key,
        **{file.stem: digest_file(file) for file in (directory / "model.json", *files)},
    }
    with progress("index") as tell:
        artefact = build_index(
            fitted,
            opened.documents,
            out,
            parents=parents,
            words=words,
            texts=shown,
            names=names_of_task(task) if texts else None,
            storage=storage,
            force=force,
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
