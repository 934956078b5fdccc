"""The verb that lists the words that a model relates to a word: neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_core.command.fields import argument, option
from ssi_core.command.models import directory_of
from ssi_core.command.options import K
from ssi_core.command.verb import Outcome, verb

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.serving.neighbours import Neighbour


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


def _show_ranked(console: Console, what: str, ranked: list[tuple[str, float]]) -> None:
    from rich.table import Table

    if not ranked:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column(what)
    table.add_column("score", justify="right")
    for number, (name, score) in enumerate(ranked, 1):
        table.add_row(str(number), name, f"{score:.4f}")
    console.print(table)
