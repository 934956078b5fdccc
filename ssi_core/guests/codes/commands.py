"""The verb ``codes``: binary codes of texts, their curves, and search in a Hamming ball."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.fields import PATH, argument, option
from ssi_core.command.models import experiment_run
from ssi_core.command.options import SAVE, SEED, K
from ssi_core.command.results import write_result
from ssi_core.command.values import require_name, values_of
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.codes.base import Hasher
    from ssi_core.recorder import RowRecorder

_NOTHING = (
    "nothing found: none of the text's words is in two of the texts that have codes (or all are in "
    "every one). Check the spelling, or try other words."
)
_METHODS = ("sth", "sths", "lsi", "centred_lsi", "itq", "lch", "spectral", "lsh")
RADIUS: Any = option(
    1, "Number of bits in which codes can differ from the code of a text.", ge=0, le=1024
)


@click.group(
    cls=Verbs,
    examples=(
        "ssi rank codes compare reuters21578.tar.gz",
        "ssi rank codes fit texts.jsonl --method sth --bits 32 --out codes",
        'ssi rank codes search codes "crude oil prices"',
    ),
)
def codes() -> None:
    """Give texts short binary codes, so that texts alike have codes that differ in few bits.

    DATA is the archive or folder of Reuters-21578 or of 20 Newsgroups by date, or a file of JSON
    lines (.jsonl): {"text": "...", "label": "...", "side": "train"}, or "test".
    """


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of ``ssi rank codes compare``."""

    data: Path = argument("DATA", type=PATH)
    methods: tuple[str, ...] = option(
        _METHODS, "Methods to compare; docs/hash-codes.md lists all.", metavar="A,B", separator=","
    )
    lengths: tuple[int, ...] = option(
        (4, 8, 16, 32, 64),
        "Lengths of the codes, in bits.",
        metavar="N,N",
        separator=",",
        ge=1,
        le=1024,
    )
    radius: int = RADIUS
    seed: int = SEED
    save: Path | None = SAVE


@codes.verb(
    CompareSettings,
    examples=(
        "ssi rank codes compare reuters21578.tar.gz --save reuters.json",
        "ssi rank codes compare texts.jsonl --methods sth,lsi --lengths 8,16 --radius 2",
    ),
)
def compare(given: CompareSettings) -> Outcome:
    """Measure methods by the classes of the training texts in the ball of each test text.

    Precision and recall of the ball, the accuracy of the class that most texts in it have, and the
    mean average precision of all training texts by their distance, for each length of the code;
    sign tests at 16 bits against sth, corrected by Holm. With the workflow, each method is a run of
    the MLflow experiment "codes".
    """
    from ssi_core.guests.codes.compare import compare as computed
    from ssi_core.guests.codes.hashers import hasher_named
    from ssi_core.guests.codes.sources import read_labelled

    names = dict.fromkeys(given.methods)
    hashers = [hasher_named(name, {"seed": given.seed}, "--methods") for name in names]
    with progress("read") as on_progress:
        texts = read_labelled(given.data, on_progress)

    lengths = sorted({*given.lengths})
    bits = ",".join(map(str, given.lengths))

    def recorded(hasher: Hasher) -> AbstractContextManager[RowRecorder | None]:
        parameters = {
            "hasher": hasher.name,
            **asdict(hasher),
            "lengths": bits,
            "radius": given.radius,
        }
        del parameters["bits"]
        return experiment_run("codes", hasher.name, given.data, parameters)

    with progress("codes") as on_progress:
        result = computed(
            texts,
            hashers,
            lengths=lengths,
            radius=given.radius,
            recorded=recorded,
            progress=on_progress,
        )
    if given.save is not None:
        write_result(given.save, result)

    def show(console: Console) -> None:
        _show_curves(console, result)

    return Outcome(result, show)


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of ``ssi rank codes fit``."""

    data: Path = argument("DATA", type=PATH)
    method: str = option("sth", "Method that learns the codes; docs/hash-codes.md lists all.")
    bits: int = option(16, "Length of a code, in bits.", ge=1, le=1024)
    settings_: dict[str, str] = option(
        {}, "Hyper-parameter of the method. Can be repeated.", flag="--set", metavar="NAME=VALUE"
    )
    out: Path = option(
        ..., "Directory to write the codes into. Codes that are there are replaced.", type=PATH
    )


@codes.verb(
    FitSettings,
    examples=(
        "ssi rank codes fit reuters21578.tar.gz --method sths --set neighbours=10 --out codes",
    ),
)
def fit(given: FitSettings) -> Outcome:
    """Learn codes of the training texts, and measure them by the test texts."""
    from ssi_core.guests.codes.hashers import HASHERS, hasher_named
    from ssi_core.guests.codes.measures import TITLES, ball_measures
    from ssi_core.guests.codes.model import CodeModel
    from ssi_core.guests.codes.sources import read_labelled

    require_name(given.method, "hasher", HASHERS, "--method")
    hasher = hasher_named(given.method, {**values_of(given.settings_), "bits": given.bits}, "--set")
    with progress("read") as on_progress:
        texts = read_labelled(given.data, on_progress)
    train, test = texts.train, texts.test
    with progress("fit"):
        model = CodeModel.of(hasher, train.texts, train.labels, train.ids)
    model.save(given.out)
    queries = model.encode(test.texts)
    measures = ball_measures(model.fitted.codes, train.labels, queries, test.labels)
    value: dict[str, Any] = {"path": str(given.out), "method": given.method, "bits": given.bits}
    value |= {"texts": len(train), "facts": model.fitted.facts}
    value["measures"] = {name: float(one.mean()) for name, one in measures.items()}

    def show(console: Console) -> None:
        console.print(
            f"codes {given.out}: {len(train):,} texts, {given.bits} bits ({given.method}); "
            "radius 1:"
        )
        for name, one in value["measures"].items():
            console.print(f"  {TITLES[name]:13} {one:.4f}")

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of ``ssi rank codes search``."""

    model: Path = argument("MODEL", type=PATH)
    text: str = argument("TEXT")
    radius: int = RADIUS
    k: int = K


@codes.verb(
    SearchSettings, examples=('ssi rank codes search codes "crude oil prices" --radius 2 -k 5',)
)
def search(given: SearchSettings) -> Outcome:
    """List texts whose codes differ from that of TEXT in at most --radius bits, nearest first."""
    import numpy as np

    from ssi_core.guests.codes.model import CodeModel

    loaded = CodeModel.load(given.model)
    code, known = loaded.encode((given.text,))[0], loaded.knows(given.text)
    rows = loaded.index().search(code, given.radius) if known else np.empty(0, np.int64)
    far = np.bitwise_count(loaded.fitted.codes[rows] ^ code).sum(axis=1)
    hits = [
        {"id": loaded.ids[row], "distance": int(distance)}
        for row, distance in zip(rows[: given.k].tolist(), far[: given.k], strict=True)
    ]
    value = {"texts": len(rows), "hits": hits}

    def show(console: Console) -> None:
        if not known:
            console.print(_NOTHING)
            return
        console.print(f"{len(rows):,} texts within {given.radius}")
        for hit in hits:
            console.print(f"  {hit['distance']} {hit['id']}", markup=False)

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class HubsSettings:
    """Settings of ``ssi rank codes hubs``."""

    data: Path = argument("DATA", type=PATH)
    dimensions: tuple[int, ...] = option(
        (2, 5, 10, 20, 50, 100),
        "Numbers of dimensions of LSI.",
        metavar="N,N",
        separator=",",
        ge=1,
        le=1024,
    )
    k: int = option(10, "Number of nearest texts to look at.", ge=1, le=1000)
    save: Path | None = SAVE


@codes.verb(
    HubsSettings,
    examples=(
        "ssi rank codes hubs 20news-bydate.tar.gz",
        "ssi rank codes hubs texts.jsonl --dimensions 5,50 -k 5",
    ),
)
def hubs(given: HubsSettings) -> Outcome:
    """Measure hubs among the training texts: texts that are near very many others.

    S_Nk is the skewness of how many texts have a text among their k nearest; BN_k the share of
    these neighbours that are of another class. In the space of all words, of the words with the
    largest information gain, and of --dimensions of LSI; nearness is the cosine.
    """
    from ssi_core.guests.codes.hubness import hub_curves
    from ssi_core.guests.codes.sources import read_labelled

    with progress("read") as on_progress:
        texts = read_labelled(given.data, on_progress)
    with progress("hubs") as on_progress:
        result = hub_curves(
            texts, dimensions=sorted({*given.dimensions}), k=given.k, progress=on_progress
        )
    if given.save is not None:
        write_result(given.save, result)

    def show(console: Console) -> None:
        from ssi_core.command.text import plain_table

        console.print(
            f"{result['collection']}: {result['train']:,} texts, k = {given.k}", style="bold"
        )
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
    if not any("tests" in row for row in result["rows"]):
        return
    console.print(
        f"p: sign test over the test texts at {result['tested_bits']} bits against "
        f"{result['baseline']}, two-sided, corrected by Holm over the methods",
        style="dim",
    )
