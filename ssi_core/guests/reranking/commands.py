"""The verb ``rerank``: learn to rank from features of (query, document) pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.fields import pairs_of, values_of
from ssi_core.command.models import experiment_run
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verb, Verbs, progress, settings
from ssi_core.guests.reranking.display import show_rankers

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.reranking.base import FittedReranker, Reranker
    from ssi_core.guests.reranking.pairs import PairFeatures
    from ssi_core.guests.reranking.table import Row
    from ssi_core.recorder import RowRecorder

_PATH = click.Path(path_type=Path)
SCALE = click.option(
    "--scale", is_flag=True, help="Scale each feature to 0..1 over the documents of a query."
)


@click.group(
    cls=Verbs,
    examples=(
        "ssi rerank compare MQ2008_folds.tar.xz",
        "ssi rerank fit MQ2008/Fold1 --ranker greedy_rankrls --out reranker",
        "ssi rerank score reranker MQ2008/Fold1/test.txt --out run.trec",
        "ssi rerank fit task --models bm25,language_model,tfidf --out model",
    ),
)
def rerank() -> None:
    """Learn to rank from features of (query, document) pairs, as in LETOR.

    A file has a line for each pair: GRADE qid:QUERY 1:VALUE 2:VALUE ... # docid = DOCUMENT, in the
    form of SVMlight; it may be packed. A feature that a line leaves out is 0; one with the VALUE
    NULL, NaN or nothing is missing, and counts as worse than all others of its query. All measures
    are those of LETOR 4.0, and not those of 'ssi evaluate': ranks 1 and 2 have no discount, and a
    query without a relevant document counts with 0.
    """


@rerank.command(
    cls=Verb,
    examples=(
        "ssi rerank fit MQ2008/Fold1 --ranker rankrls --out reranker",
        "ssi rerank fit train.txt --valid vali.txt --ranker rankboost --set rounds=100 --out model",
        "ssi rerank fit task --models bm25,language_model,ssi --ranker rankrls --out model",
    ),
)
@click.argument("train", type=_PATH)
@click.option("--valid", type=_PATH, help="Other queries, which choose settings and rounds.")
@click.option(
    "--models",
    metavar="A,B",
    help="Models of a task, whose scores are features; the first one ranks.",
)
@click.option(
    "--depth",
    type=click.IntRange(2, 100_000),
    help="With --models: documents of a query in a new order. Else 100.",
)
@click.option(
    "--queries",
    type=click.IntRange(min=1),
    help="With --models: queries of a side at most. Else 1000.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="With --models: of every random choice. Else 0."
)
@click.option("--ranker", default="rankrls", show_default=True, help="docs/reranking.md has all.")
@click.option(
    "--set",
    "settings_",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs_of,
    help="A hyper-parameter of the ranker; a list with commas.",
)
@SCALE
@click.option("--out", type=_PATH, required=True, help="Directory of the model to write.")
def fit(
    train: Path,
    valid: Path | None,
    models: str | None,
    ranker: str,
    settings_: dict[str, str],
    scale: bool,
    out: Path,
    **of_task: int | None,
) -> Outcome:
    """Train a ranker on a file of pairs, on a fold, or behind the models of a task.

    TRAIN is a file, or a folder of train.txt and vali.txt; where it has a test.txt, the ranker is
    measured on it. With --models TRAIN is a task of 'ssi features': each model is trained on it
    ("ssi" has the defaults of ssi.SSI, others theirs; it reads whole texts where the task has no
    view sublinear:50@30000), the first one ranks, and the ranker learns the order of its first
    --depth documents from the scores of all. MODEL then holds the whole, and an index of the
    documents: 'ssi search MODEL TEXT' gives reranked answers. The gain over the first model is
    measured over all candidates of the test queries.
    """
    given = {name: value for name, value in of_task.items() if value is not None}
    if models is not None:
        if valid is not None:
            raise click.UsageError("--valid goes with a file: a task has its validation queries.")
        if scale:
            raise click.UsageError("--scale goes with a file: features of models are scaled.")
        return _fit_on_task(train, models.split(","), ranker, values_of(settings_), out, given)
    if given:
        raise click.UsageError(f"--{min(given)} goes with --models, on a task.")
    values = values_of(settings_) | ({"scale": True} if scale else {})
    return _fit_on_pairs(train, valid, ranker, values, out)


def _fit_on_pairs(
    train: Path, valid: Path | None, ranker: str, values: dict[str, Any], out: Path
) -> Outcome:
    from ssi_core.guests.reranking.letor import read_letor
    from ssi_core.guests.reranking.rankers import reranker_named

    test: Path | None = None
    if train.is_dir():
        if valid is not None:
            raise click.UsageError("--valid goes with a file: a folder has its vali.txt.")
        train, valid, test = (train / f"{name}.txt" for name in ("train", "vali", "test"))
    chosen = reranker_named(ranker, values, "--set")
    with progress("read") as tell:
        sides = read_letor(train, tell), None if valid is None else read_letor(valid, tell)
    with progress("fit"):
        fitted = chosen.fit(*sides)
    fitted.save(out)
    value: dict[str, Any] = {"path": str(out), "ranker": ranker, "facts": fitted.facts}
    if test is not None and test.exists():
        value |= {"test": str(test), "measures": _measures(fitted, read_letor(test), str(test))}

    def show(console: Console) -> None:
        console.print(f"reranker {out} ({ranker}, {len(fitted.names)} features)")
        if sides[0].missing:
            share = sides[0].missing / sides[0].values.size
            console.print(f"  missing values {sides[0].missing:,} of the training ({share:.1%})")
        _show_facts(console, fitted.facts)
        _show_measures(console, value.get("measures", {}))

    return Outcome(value, show)


def _fit_on_task(
    path: Path,
    models: Sequence[str],
    ranker: str,
    values: dict[str, Any],
    out: Path,
    given: Mapping[str, int],
) -> Outcome:
    from ssi_core.face.models import Ranker
    from ssi_core.face.task import Task
    from ssi_core.guests.reranking.face import Reranker, gain, models_named

    threads = settings().threads or 1
    task, options = Task.open(path), dict[str, Any](given)
    options["random_state"] = options.pop("seed", 0)
    named = [Ranker(one.name, **vars(one)) for one in models_named(models, task)]
    behind = Reranker(ranker, **values).behind(*named, **options)
    fitted = behind.fit(task, threads=threads)
    comparison = gain(fitted, task, threads=threads)
    fitted.save(out)
    index = fitted.index(task, out=out / "index")
    facts = fitted.fitted_.facts
    value = {
        "path": str(out),
        "index": str(index.path),
        "ranker": ranker,
        "features": facts["features"],
        "queries": facts["ranker_queries"],
        "facts": facts["ranker"],
        "measures": comparison.frame.to_dicts(),
    }

    def show(console: Console) -> None:
        sides = facts["ranker_queries"]
        console.print(f"model {out}, with its index: {', '.join(facts['features'])}")
        console.print(
            f"  {ranker}, {sides['train']:,} queries, chosen by {sides['valid']:,} others"
        )
        _show_facts(console, facts["ranker"])
        for line in str(comparison).splitlines():
            console.print(line, soft_wrap=True)

    return Outcome(value, show)


@rerank.command(
    cls=Verb,
    examples=(
        "ssi rerank score reranker MQ2008/Fold1/test.txt",
        "ssi rerank score reranker test.txt --out run.trec --scores scores.txt",
    ),
)
@click.argument("model", type=_PATH)
@click.argument("pairs", type=_PATH)
@click.option("--out", type=_PATH, help="Run of TREC to write: query Q0 document rank score name.")
@click.option("--scores", type=_PATH, help="File to write with a score a line, in their order.")
def score(model: Path, pairs: Path, out: Path | None, scores: Path | None) -> Outcome:
    """Rank the documents of each query of a file, and measure the order by its grades."""
    from ssi_core.guests.reranking.letor import read_letor
    from ssi_core.guests.reranking.rankers import load_reranker
    from ssi_core.guests.reranking.score_files import write_run, write_scores

    fitted = load_reranker(model)
    with progress("read") as tell:
        features = read_letor(pairs, tell)
    ranked = fitted.score(features, str(pairs))
    value: dict[str, Any] = {"model": str(model), "pairs": len(features)}
    value |= {"queries": len(features.queries), "measures": _measures(fitted, features, str(pairs))}
    if out is not None:
        write_run(features, ranked, out, fitted.ranker.name)
        value["run"] = str(out)
    if scores is not None:
        write_scores(ranked, scores)
        value["scores"] = str(scores)

    def show(console: Console) -> None:
        console.print(f"{value['pairs']:,} pairs of {value['queries']:,} queries")
        _show_measures(console, value["measures"])

    return Outcome(value, show)


@rerank.command(
    cls=Verb,
    examples=(
        "ssi rerank compare MQ2008_folds.tar.xz",
        'ssi rerank compare MQ2008 --rows "RankRLS,greedy RankRLS" --save mq2008.json',
        "ssi rerank compare my-folds --table my-rankers.toml",
    ),
)
@click.argument("folds", type=_PATH)
@click.option("--table", default="mq2008", show_default=True, help="A shipped table, or a file.")
@click.option("--rows", metavar="A,B", help="Labels of rows; else all.")
@SCALE
@click.option("--save", type=_PATH, metavar="FILE", help="Write the result as JSON.")
def compare(folds: Path, table: str, rows: str | None, scale: bool, save: Path | None) -> Outcome:
    """Compute a table of rankers on given folds, beside what a paper prints of the same folds.

    FOLDS is a folder, or an archive (tar.xz), of Fold1/train.txt, vali.txt, test.txt and so on.
    Settings and rounds are chosen on vali.txt. Each ranker is tested against the baseline over the
    test queries of all folds, and compared with the best feature alone and with the fusion of the
    ranks of all features. With the workflow, each row is a run of the MLflow experiment
    "reranking". A row whose package is not installed is left out.
    """
    from ssi_core.guests.reranking.compare import compare as computed
    from ssi_core.guests.reranking.letor import read_folds
    from ssi_core.guests.reranking.table import read_table

    chosen = read_table(table)
    if rows is not None:
        chosen = chosen.select(tuple(rows.split(",")))
    with progress("read") as tell:
        given = read_folds(folds, tell)

    def recorded(row: Row, ranker: Reranker) -> AbstractContextManager[RowRecorder | None]:
        parameters = {"table": table, "ranker": ranker.name, **asdict(ranker)}
        return experiment_run("reranking", row.label, folds, parameters)

    with progress("rerank") as tell:
        how: dict[str, Any] = {"name": folds.name or str(folds), "scale": scale}
        result = computed(given, chosen, **how, recorded=recorded, progress=tell)
    if save is not None:
        write_result(save, result)

    def show(console: Console) -> None:
        show_rankers(console, result)

    return Outcome(result, show)


@rerank.command(
    cls=Verb,
    examples=(
        "ssi rerank features task --models bm25,language_model,tfidf --out pairs",
        "ssi rerank compare pairs --table first-stage",
    ),
)
@click.argument("task", type=_PATH)
@click.option("--models", required=True, metavar="A,B", help="The first one ranks; docs/models.md.")
@click.option("--out", type=_PATH, required=True, help="Folder of the folds to write.")
@click.option("--depth", type=click.IntRange(2, 100_000), default=100, show_default=True)
@click.option("--queries", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def features(task: Path, models: str, out: Path, depth: int, queries: int, seed: int) -> Outcome:
    """Write features of the first documents of a model: files for 'ssi rerank compare'.

    Each model is trained on the task, in each of its folds, with the defaults of ssi. The first one
    ranks; its first --depth documents are the pairs, and the scores of all models are features,
    with 1 / rank, the length of the document and the share of the query's words that it has.
    """
    from ssi_core.face.task import Task
    from ssi_core.guests.reranking.face import models_named
    from ssi_core.guests.reranking.first_stage import first_stage_folds
    from ssi_core.guests.reranking.letor import write_folds
    from ssi_core.types import Refused

    if out.exists() and any(path.is_file() for path in out.iterdir()):
        raise Refused(f"{out} holds files that are no folds; it is left alone. Name another.")
    opened = Task.open(task)
    named = models_named(models.split(","), opened)
    how: dict[str, Any] = {"depth": depth, "queries": queries, "seed": seed}
    how["threads"] = settings().threads or 1
    with progress("features") as tell:
        folds = first_stage_folds(opened.data, named, **how, progress=tell)
    write_folds(folds, out)
    sides = {"train": "train", "vali": "valid", "test": "test"}
    value: dict[str, Any] = {
        "path": str(out),
        "features": list(folds[0].test.names),
        "folds": {
            fold.name: {file: len(getattr(fold, side).queries) for file, side in sides.items()}
            for fold in folds
        },
        "pairs": sum(len(fold.test) for fold in folds),
    }

    def show(console: Console) -> None:
        console.print(f"folds {out}: {', '.join(value['features'])}")
        for name, counts in value["folds"].items():
            shown = ", ".join(f"{count:,} in {file}.txt" for file, count in counts.items())
            console.print(f"  {name}: queries {shown}")

    return Outcome(value, show)


def _show_facts(console: Console, facts: Mapping[str, Any]) -> None:
    for name, fact in facts.items():
        console.print(f"  {name.replace('_', ' ')} {fact}")


def _measures(fitted: FittedReranker, features: PairFeatures, where: str) -> dict[str, float]:
    from ssi_core.guests.reranking.measures import means, per_query

    return means(per_query(features, fitted.score(features, where)))


def _show_measures(console: Console, measures: Mapping[str, float]) -> None:
    from ssi_core.guests.reranking.measures import title_of

    for name, value in measures.items():
        console.print(f"  {title_of(name):9} {value:.4f}")
