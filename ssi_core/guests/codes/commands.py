"""The verb ``codes``: binary codes of texts, their curves, and search in a Hamming ball."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.fields import pairs_of, values_of
from ssi_core.command.models import experiment_run
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verb, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.codes.base import Hasher
    from ssi_core.recorder import RowRecorder

_PATH = click.Path(path_type=Path)
_METHODS = "sth,sths,lsi,lch,spectral,lsh"


@click.group(
    cls=Verbs,
    examples=(
        "ssi codes compare reuters21578.tar.gz",
        "ssi codes fit texts.jsonl --method sth --bits 32 --out codes",
        'ssi codes search codes "crude oil prices"',
    ),
)
def codes() -> None:
    """Give texts short binary codes, so that texts alike have codes that differ in few bits.

    DATA is the archive or folder of Reuters-21578 or of 20 Newsgroups by date, or a file of JSON
    lines (.jsonl): {"text": "...", "label": "...", "side": "train"}, or "test".
    """


@codes.command(
    cls=Verb,
    examples=(
        "ssi codes compare reuters21578.tar.gz --save reuters.json",
        "ssi codes compare texts.jsonl --methods sth,lsi --bits 8,16 --radius 2",
    ),
)
@click.argument("data", type=_PATH)
@click.option("--methods", default=_METHODS, show_default=True, metavar="A,B")
@click.option("--bits", default="4,8,16,32,64", show_default=True, metavar="B,B")
@click.option("--radius", type=click.IntRange(0, 1024), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--save", type=_PATH, metavar="FILE", help="Write the result as JSON.")
def compare(
    data: Path, methods: str, bits: str, radius: int, seed: int, save: Path | None
) -> Outcome:
    """Measure methods by the classes of the training texts in the ball of each test text.

    Precision and recall of the ball, and the accuracy of the class that most texts in it have, for
    each length of the code; sign tests at 16 bits against sth, corrected by Holm. With the
    workflow, each method is a run of the MLflow experiment "codes".
    """
    from ssi_core.guests.codes.compare import compare as computed
    from ssi_core.guests.codes.hashers import hasher_named
    from ssi_core.guests.codes.sources import read_labelled

    lengths = _lengths(bits)
    names = list(dict.fromkeys(methods.split(",")))
    hashers = [hasher_named(name, {"seed": seed}, "--methods") for name in names]
    with progress("read") as tell:
        texts = read_labelled(data, tell)

    def recorded(hasher: Hasher) -> AbstractContextManager[RowRecorder | None]:
        parameters = {"hasher": hasher.name, **asdict(hasher), "lengths": bits, "radius": radius}
        del parameters["bits"]
        return experiment_run("codes", hasher.name, data, parameters)

    with progress("codes") as tell:
        result = computed(
            texts, hashers, lengths=lengths, radius=radius, recorded=recorded, progress=tell
        )
    if save is not None:
        write_result(save, result)

    def show(console: Console) -> None:
        _show_curves(console, result)

    return Outcome(result, show)


@codes.command(
    cls=Verb,
    examples=("ssi codes fit reuters21578.tar.gz --method sths --set neighbours=10 --out codes",),
)
@click.argument("data", type=_PATH)
@click.option("--method", default="sth", show_default=True, help="docs/hash-codes.md has all.")
@click.option("--bits", type=click.IntRange(1, 1024), default=16, show_default=True)
@click.option(
    "--set",
    "settings_",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs_of,
    help="A hyper-parameter of the method.",
)
@click.option("--out", type=_PATH, required=True, help="Directory of the codes to write.")
def fit(data: Path, method: str, bits: int, settings_: dict[str, str], out: Path) -> Outcome:
    """Learn codes of the training texts, and measure them by the test texts."""
    from ssi_core.guests.codes.hashers import hasher_named
    from ssi_core.guests.codes.measures import TITLES, ball_measures
    from ssi_core.guests.codes.model import CodeModel
    from ssi_core.guests.codes.sources import read_labelled

    hasher = hasher_named(method, {**values_of(settings_), "bits": bits}, "--set")
    with progress("read") as tell:
        texts = read_labelled(data, tell)
    train, test = texts.train, texts.test
    with progress("fit"):
        model = CodeModel.of(hasher, train.texts, train.labels, train.ids)
    model.save(out)
    queries = model.encode(test.texts)
    measures = ball_measures(model.fitted.codes, train.labels, queries, test.labels)
    value: dict[str, Any] = {"path": str(out), "method": method, "bits": bits}
    value |= {"texts": len(train), "facts": model.fitted.facts}
    value["measures"] = {name: float(one.mean()) for name, one in measures.items()}

    def show(console: Console) -> None:
        console.print(f"codes {out}: {len(train):,} texts, {bits} bits ({method}); radius 1:")
        for name, one in value["measures"].items():
            console.print(f"  {TITLES[name]:13} {one:.4f}")

    return Outcome(value, show)


@codes.command(
    cls=Verb,
    examples=('ssi codes search codes "crude oil prices" --radius 2 -k 5',),
)
@click.argument("model", type=_PATH)
@click.argument("text")
@click.option("--radius", type=click.IntRange(0, 1024), default=1, show_default=True)
@click.option("-k", "most", type=click.IntRange(min=1), default=10, show_default=True)
def search(model: Path, text: str, radius: int, most: int) -> Outcome:
    """List texts whose codes differ from that of TEXT in at most --radius bits, nearest first."""
    import numpy as np

    from ssi_core.guests.codes.model import CodeModel

    loaded = CodeModel.load(model)
    code = loaded.encode((text,))[0]
    rows = loaded.index().search(code, radius)
    far = np.bitwise_count(loaded.fitted.codes[rows] ^ code).sum(axis=1)
    hits = [
        {"id": loaded.ids[row], "distance": int(distance)}
        for row, distance in zip(rows[:most].tolist(), far[:most], strict=True)
    ]
    value = {"texts": len(rows), "hits": hits}

    def show(console: Console) -> None:
        console.print(f"{len(rows):,} texts within {radius}")
        for hit in hits:
            console.print(f"  {hit['distance']} {hit['id']}", markup=False)

    return Outcome(value, show)


@codes.command(
    cls=Verb,
    examples=(
        "ssi codes hubs 20news-bydate.tar.gz",
        "ssi codes hubs texts.jsonl --dimensions 5,50 -k 5",
    ),
)
@click.argument("data", type=_PATH)
@click.option("--dimensions", default="2,5,10,20,50,100", show_default=True, metavar="N,N")
@click.option("-k", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.option("--save", type=_PATH, metavar="FILE", help="Write the result as JSON.")
def hubs(data: Path, dimensions: str, k: int, save: Path | None) -> Outcome:
    """Measure hubs among the training texts: texts that are near very many others.

    S_Nk is the skewness of how many texts have a text among their k nearest; BN_k the share of
    these neighbours that are of another class. In the space of all words, of the words with the
    largest information gain, and of --dimensions of LSI; nearness is the cosine.
    """
    from ssi_core.guests.codes.hubness import hub_curves
    from ssi_core.guests.codes.sources import read_labelled

    numbers = _lengths(dimensions, "--dimensions")
    with progress("read") as tell:
        texts = read_labelled(data, tell)
    with progress("hubs") as tell:
        result = hub_curves(texts, dimensions=numbers, k=k, progress=tell)
    if save is not None:
        write_result(save, result)

    def show(console: Console) -> None:
        from ssi_core.command.text import plain_table

        console.print(f"{result['collection']}: {result['train']:,} texts, k = {k}", style="bold")
        lines = [
            [
                row["space"],
                f"{row['features']:,}",
                f"{row['texts']:,}",
                f"{row['skewness']:.2f}",
                f"{row['bad_ratio']:.3f}",
            ]
            for row in result["rows"]
        ]
        console.print(plain_table(["space", " features", " texts", " S_Nk", " BN_k"], lines))

    return Outcome(result, show)


def _lengths(text: str, option: str = "--bits") -> list[int]:
    """Return lengths of codes, or numbers of dimensions, from the text of an option."""
    parts = text.split(",")
    if not all(part.isdecimal() and 1 <= int(part) <= 1024 for part in parts):
        raise click.UsageError(f"{option} {text}: expected numbers from 1 to 1024, such as 8,16.")
    return sorted({int(part) for part in parts})


def _show_curves(console: Console, result: Mapping[str, Any]) -> None:
    """Print a table for each measure: a row for each method, a column for each length."""
    from ssi_core.command.text import plain_table
    from ssi_core.guests.codes.measures import TITLES

    console.print(
        f"{result['collection']}: {result['train']:,} training texts, {result['test']:,} test "
        f"texts, {result['classes']} classes, radius {result['radius']}",
        style="bold",
    )
    for measure in result["measures"]:
        tested = any(measure in row.get("tests", {}) for row in result["rows"])
        head = [TITLES[measure], *(f"{n} bits" for n in result["lengths"]), *(["p"] * tested)]
        lines = []
        for row in result["rows"]:
            test = row.get("tests", {}).get(measure)
            cells = [f"{row['curve'][str(n)][measure]:.3f}" for n in result["lengths"]]
            p = ["" if test is None else f"{test['p_holm']:.3f}"] * tested
            lines.append([row["hasher"], *cells, *p])
        console.print()
        console.print(plain_table(head, lines))
    console.print(
        f"p: sign test over the test texts at {result['tested_bits']} bits against "
        f"{result['baseline']}, two-sided, corrected by Holm over the methods",
        style="dim",
    )
