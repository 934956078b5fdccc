"""The verb ``rerank``: learn to rank from features of (query, document) pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.fields import PATH, argument, option
from ssi_core.command.models import experiment_run
from ssi_core.command.options import MAX_QUERIES, ROWS, SAVE, SEED
from ssi_core.command.results import write_result
from ssi_core.command.values import require_name, values_of
from ssi_core.command.verb import Outcome, Verbs, progress, settings
from ssi_core.guests.reranking.display import show_facts, show_measures, show_rankers

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.reranking.base import FittedReranker, Reranker
    from ssi_core.guests.reranking.pairs import PairFeatures
    from ssi_core.guests.reranking.table import Row
    from ssi_core.recorder import RowRecorder

SCALE: Any = option(False, "Scale each feature to 0..1 over the documents of a query.")


@click.group(
    cls=Verbs,
    examples=(
        "ssi rank rerank compare MQ2008_folds.tar.xz",
        "ssi rank rerank fit MQ2008/Fold1 --ranker greedy_rankrls --out reranker",
        "ssi rank rerank score reranker MQ2008/Fold1/test.txt --out run.trec",
        "ssi rank rerank fit task --models bm25,language_model,tfidf --out model",
    ),
)
def rerank() -> None:
    """Learn to rank from features of (query, document) pairs, as in LETOR.

    A file has a line for each pair: GRADE qid:QUERY 1:VALUE 2:VALUE ... # docid = DOCUMENT, in the
    form of SVMlight; it may be packed. A feature that a line leaves out is 0; one with the VALUE
    NULL, NaN or nothing is missing, and counts as worse than all others of its query. All measures
    are those of LETOR 4.0, and not those of 'ssi lab evaluate': ranks 1 and 2 have no discount, and
    a query without a relevant document counts with 0.
    """


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of ``ssi rank rerank fit``."""

    train: Path = argument("TRAIN", type=PATH)
    valid: Path | None = option(
        None, "File of other queries, which choose settings and rounds.", type=PATH
    )
    models: tuple[str, ...] = option(
        (),
        "Models of a task whose scores are features; the first one ranks.",
        metavar="A,B",
        separator=",",
    )
    depth: int | None = option(
        None,
        "Number of documents of a query to reorder. Only with --models. [default: 100]",
        ge=2,
        le=100_000,
    )
    queries: int | None = option(
        None,
        "Maximum number of queries of each part of the split. Only with --models. [default: 1000]",
        flag="--max-queries",
        ge=1,
    )
    seed: int | None = option(None, "Random seed. Only with --models. [default: 0]", ge=0)
    ranker: str = option("rankrls", "Ranker to train; docs/reranking.md lists all.")
    settings_: dict[str, str] = option(
        {},
        "Hyper-parameter of the ranker; a list has commas. Can be repeated.",
        flag="--set",
        metavar="NAME=VALUE",
    )
    scale: bool = SCALE
    out: Path = option(
        ..., "Directory to write the model into. One that is there is replaced.", type=PATH
    )


@rerank.verb(
    FitSettings,
    examples=(
        "ssi rank rerank fit MQ2008/Fold1 --ranker rankrls --out reranker",
        "ssi rank rerank fit train.txt --valid vali.txt --ranker rankboost --set rounds=9 --out m",
        "ssi rank rerank fit task --models bm25,language_model,ssi --ranker rankrls --out model",
    ),
)
def fit(given: FitSettings) -> Outcome:
    """Train a ranker on a file of pairs, on a fold, or behind the models of a task.

    TRAIN is a file, or a folder of train.txt and vali.txt; where it has a test.txt, the ranker is
    measured on it. With --models TRAIN is a task of 'ssi data features': each model is trained on
    it (k1, b and k3 of "bm25" are chosen on validation, "ssi" has the defaults of ssi.SSI, others
    theirs; where the task lacks a view, "ssi" reads raw counts), the first one ranks, and the
    ranker learns the order of its first --depth documents from the scores of all. MODEL then holds
    the whole, and an index of the documents: 'ssi search MODEL TEXT' gives reranked answers. The
    gain over the first model is measured over all candidates of the test queries.
    """
    from ssi_core.guests.reranking.rankers import RERANKERS

    of_task = {
        name: value
        for name in ("depth", "queries", "seed")
        if (value := getattr(given, name)) is not None
    }
    require_name(given.ranker, "ranker", RERANKERS, "--ranker")
    settings_ = values_of(given.settings_, RERANKERS[given.ranker])
    if given.models:
        if given.valid is not None:
            raise click.UsageError("--valid goes with a file: a task has its validation queries.")
        if given.scale:
            raise click.UsageError("--scale goes with a file: features of models are scaled.")
        return _fit_on_task(given.train, given.models, given.ranker, settings_, given.out, of_task)
    if of_task:
        name = min(of_task).replace("queries", "max-queries")
        raise click.UsageError(f"--{name} goes with --models, on a task.")
    values = settings_ | ({"scale": True} if given.scale else {})
    return _fit_on_pairs(given.train, given.valid, given.ranker, values, given.out)


def _fit_on_pairs(
    train: Path, valid: Path | None, ranker: str, values: dict[str, Any], out: Path
) -> Outcome:
    from ssi_core.guests.reranking.letor import read_sides
    from ssi_core.guests.reranking.rankers import reranker_named

    test: Path | None = None
    if train.is_dir():
        if valid is not None:
            raise click.UsageError("--valid goes with a file: a folder has its vali.txt.")
        train, valid, test = (train / f"{name}.txt" for name in ("train", "vali", "test"))
    chosen = reranker_named(ranker, values, "--set")
    others = (valid, test if test is not None and test.exists() else None)
    paths = [train, *(one for one in others if one is not None)]
    with progress("read") as on_progress:
        sides = read_sides(paths, on_progress)
    pairs = sides[train]
    with progress("fit"):
        fitted = chosen.fit(pairs, None if valid is None else sides[valid])
    fitted.save(out)
    value: dict[str, Any] = {"path": str(out), "ranker": ranker, "facts": fitted.facts}
    if test in sides:
        value |= {"test": str(test), "measures": _measures(fitted, sides[test], str(test))}

    def show(console: Console) -> None:
        console.print(f"reranker {out} ({ranker}, {len(fitted.names)} features)")
        if pairs.missing:
            share = pairs.missing / pairs.values.size
            console.print(f"  missing values {pairs.missing:,} of the training ({share:.1%})")
        facts = {name: fact for name, fact in fitted.facts.items() if name != "missing_values"}
        show_facts(console, facts)
        if test in sides:
            console.print(f"measured on {test}:")
            show_measures(console, value["measures"], sides[test])

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
        show_facts(console, facts["ranker"])
        for line in str(comparison).splitlines():
            console.print(line, soft_wrap=True)

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class ScoreSettings:
    """Settings of ``ssi rank rerank score``."""

    model: Path = argument("MODEL", type=PATH)
    pairs: Path = argument("PAIRS", type=PATH)
    out: Path | None = option(
        None, "TREC run to write: query Q0 document rank score name.", type=PATH
    )
    scores: Path | None = option(
        None, "File to write, with a score per line in the order of the pairs.", type=PATH
    )


@rerank.verb(
    ScoreSettings,
    examples=(
        "ssi rank rerank score reranker MQ2008/Fold1/test.txt",
        "ssi rank rerank score reranker test.txt --out run.trec --scores scores.txt",
    ),
)
def score(given: ScoreSettings) -> Outcome:
    """Rank the documents of each query of a file, and measure the order by its grades."""
    from ssi_core.guests.reranking.letor import read_letor
    from ssi_core.guests.reranking.rankers import load_reranker
    from ssi_core.guests.reranking.score_files import write_run, write_scores
    from ssi_core.types import BadInput

    if given.pairs.is_dir():
        raise BadInput(f"{given.pairs}: it is a folder. Name one of its files, such as test.txt.")
    fitted = load_reranker(given.model)
    with progress("read") as on_progress:
        features = read_letor(given.pairs, on_progress)
    ranked = fitted.score(features, str(given.pairs))
    value: dict[str, Any] = {"model": str(given.model), "pairs": len(features)}
    value |= {
        "queries": len(features.queries),
        "measures": _measures(fitted, features, str(given.pairs)),
    }
    if given.out is not None:
        write_run(features, ranked, given.out, fitted.ranker.name)
        value["run"] = str(given.out)
    if given.scores is not None:
        write_scores(ranked, given.scores)
        value["scores"] = str(given.scores)

    def show(console: Console) -> None:
        console.print(f"{value['pairs']:,} pairs of {value['queries']:,} queries")
        show_measures(console, value["measures"], features)

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of ``ssi rank rerank compare``."""

    folds: Path = argument("FOLDS", type=PATH)
    table: str = option("mq2008", "Name of a shipped table of rankers, or a TOML file.")
    rows: tuple[str, ...] = ROWS
    scale: bool = SCALE
    save: Path | None = SAVE


@rerank.verb(
    CompareSettings,
    examples=(
        "ssi rank rerank compare MQ2008_folds.tar.xz",
        'ssi rank rerank compare MQ2008 --rows "RankRLS,greedy RankRLS" --save mq2008.json',
        "ssi rank rerank compare my-folds --table my-rankers.toml",
    ),
)
def compare(given: CompareSettings) -> Outcome:
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

    chosen = read_table(given.table)
    if given.rows:
        chosen = chosen.select(given.rows)
    with progress("read") as on_progress:
        folds = read_folds(given.folds, on_progress)

    def recorded(row: Row, ranker: Reranker) -> AbstractContextManager[RowRecorder | None]:
        parameters = {"table": given.table, "ranker": ranker.name, **asdict(ranker)}
        return experiment_run("reranking", row.label, given.folds, parameters)

    with progress("rerank") as on_progress:
        how: dict[str, Any] = {"name": given.folds.name or str(given.folds), "scale": given.scale}
        result = computed(folds, chosen, **how, recorded=recorded, progress=on_progress)
    if given.save is not None:
        write_result(given.save, result)

    def show(console: Console) -> None:
        show_rankers(console, result)

    return Outcome(result, show)


@dataclass(frozen=True, kw_only=True)
class FeaturesSettings:
    """Settings of ``ssi rank rerank features``."""

    task: Path = argument("TASK", type=PATH)
    models: tuple[str, ...] = option(
        ...,
        "Models whose scores are features (docs/models.md lists all); the first one ranks.",
        metavar="A,B",
        separator=",",
    )
    out: Path = option(..., "Directory to write the folds into.", type=PATH)
    depth: int = option(100, "Number of documents of a query.", ge=2, le=100_000)
    queries: int | None = MAX_QUERIES
    seed: int = SEED


@rerank.verb(
    FeaturesSettings,
    examples=(
        "ssi rank rerank features task --models bm25,language_model,tfidf --out pairs",
        "ssi rank rerank compare pairs --table first-stage",
    ),
)
def features(given: FeaturesSettings) -> Outcome:
    """Write features of the first documents of a model: files for 'ssi rank rerank compare'.

    Each model is trained on the task, in each of its folds: k1, b and k3 of "bm25" are chosen on
    validation, "ssi" has the defaults of ssi.SSI, others theirs. The first one ranks; its first
    --depth documents are the pairs, and the scores of all models are features, with 1 / rank, the
    length of the document and the share of the query's words that it has.
    """
    from ssi_core.face.task import Task
    from ssi_core.guests.reranking.face import models_named
    from ssi_core.guests.reranking.first_stage import first_stage_folds
    from ssi_core.guests.reranking.letor import write_folds
    from ssi_core.types import Refused

    if given.out.exists() and any(path.is_file() for path in given.out.iterdir()):
        raise Refused(f"{given.out} holds files that are no folds; it is left alone. Name another.")
    opened = Task.open(given.task)
    named = models_named(given.models, opened)
    how: dict[str, Any] = {"depth": given.depth, "queries": given.queries, "seed": given.seed}
    how["threads"] = settings().threads or 1
    with progress("features") as on_progress:
        folds = first_stage_folds(opened.data, named, **how, progress=on_progress)
    write_folds(folds, given.out)
    sides = {"train": "train", "vali": "valid", "test": "test"}
    value: dict[str, Any] = {
        "path": str(given.out),
        "features": list(folds[0].test.names),
        "folds": {
            fold.name: {file: len(getattr(fold, side).queries) for file, side in sides.items()}
            for fold in folds
        },
        "pairs": sum(len(fold.test) for fold in folds),
    }

    def show(console: Console) -> None:
        console.print(f"folds {given.out}: {', '.join(value['features'])}")
        for name, counts in value["folds"].items():
            shown = ", ".join(f"{count:,} in {file}.txt" for file, count in counts.items())
            console.print(f"  {name}: queries {shown}")

    return Outcome(value, show)


def _measures(fitted: FittedReranker, features: PairFeatures, where: str) -> dict[str, float]:
    from ssi_core.guests.reranking.measures import means, per_query

    return means(per_query(features, fitted.score(features, where)))
