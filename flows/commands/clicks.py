"""Verbs of click logs: match, estimate."""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssi_core.command.models import directory_of
from ssi_core.command.search import INDEX, K, searcher_of
from ssi_core.command.verb import Outcome, Verb, settings

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.evaluation.bootstrap import Estimate
    from ssi_core.evaluation.documents_above import Above
    from ssi_core.serving.live import Document


@click.command(
    cls=Verb,
    examples=(
        "ssi match models:/ssi@champion page.txt",
        'ssi match runs/abc "Horse" --pages clicks -k 5',
        "curl -s example.org | ssi match runs/abc - --new-ads new.tsv --json",
    ),
)
@click.argument("model")
@click.argument("page")
@K
@INDEX
@click.option(
    "--pages",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Collection in which PAGE is a title or an id.",
)
@click.option(
    "--new-ads",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Table (CSV, TSV, ...) of ads that the index does not have: columns id and text.",
)
def match(
    model: str, page: str, k: int, index: Path | None, pages: Path | None, new_ads: Path | None
) -> Outcome:
    """Find ads for a page, best first.

    PAGE is a text file, - for standard input, or a title with --pages. New ads are matched at once:
    nothing is trained again.
    """
    from ssi_core.command.text import plain_table
    from ssi_core.serving.live import LiveSearcher
    from ssi_core.serving.nothing import nothing_found
    from ssi_core.serving.page import page_text

    text = sys.stdin.read() if page == "-" else page_text(page, pages)
    searcher = LiveSearcher(searcher_of(model, index))
    if new_ads is not None:
        searcher = searcher.put(_read_ads(new_ads))
    answer = searcher.search([text], k)[0]
    value: dict[str, object] = {"results": [asdict(hit) for hit in answer.hits]}
    if answer.reason is not None:
        value["reason"] = answer.reason

    def show(console: Console) -> None:
        if answer.reason is not None:
            console.print(nothing_found(answer.reason))
        rows = [(hit.id, hit.title, f"{hit.score:.4f}") for hit in answer.hits]
        if rows:
            console.print(plain_table(["id", "ad", "score"], rows, left=2))

    return Outcome(value, show)


_ESTIMATE = """Estimate from a click log how often a model's order would be clicked.

\b
Expected clicks a visit, with 95 % intervals, beside what the log itself has:
  ips    clicks where model and log agree, over how often the log does so
  snips  the same, over the sum of the weights: less noise
  dr     a model of relevance and positions, its errors corrected by ips
  pbm    clicks wherever the ad was shown, by how often positions are looked at

An estimator is left out where the log never shows what the model would; where none is left,
the command stops and says which share that is. Each estimate is a run of the MLflow experiment
"evaluations".
"""
_FAR, _FEW = 0.1, 30
"""Distance of the mean weight from 1, and effective visits, that are worth a word."""
_TABLE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(
    cls=Verb,
    help=_ESTIMATE,
    examples=(
        "ssi estimate models:/ssi@champion --clicks tuesday",
        "ssi estimate runs/abc --clicks tuesday --candidates shown --json",
        "ssi estimate runs/abc --clicks tuesday --policy policy.csv",
    ),
)
@click.argument("model")
@click.option(
    "--clicks",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=True,
    help="Clicks that the model has not learned from, of 'ssi ingest clicks --clicks weighted'.",
)
@click.option(
    "--candidates",
    type=click.Choice(["all", "shown"]),
    default="all",
    show_default=True,
    help="What the model ranks for a page: all ads, or those that the log shows there.",
)
@click.option("--policy", type=_TABLE, help="Columns query, document, position, probability: how "
              "likely a visit to the query showed the document there. Else the log's "
              "frequencies.")  # fmt: skip
@click.option("--propensities", type=_TABLE, help="Columns position, propensity. Else those that "
              "the clicks were ingested with, estimated anew in each resample.")  # fmt: skip
@click.option("--most-unseen", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Share of the model's places that the log may say nothing of.")  # fmt: skip
@click.option("--least-visits", type=click.FloatRange(0), default=10.0, show_default=True,
              help="Effective visits that an estimator needs.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=2), default=1000, show_default=True,
              help="Resamples of the sessions.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the resamples.")
def estimate(
    model: str,
    clicks: Path,
    candidates: str,
    policy: Path | None,
    propensities: Path | None,
    most_unseen: float,
    least_visits: float,
    rounds: int,
    seed: int,
) -> Outcome:
    """Estimate from a click log how often a model's order would be clicked."""
    from flows.tracking import evaluation_run
    from ssi_core.command.text import plain_table
    from ssi_core.corpus.clicks.visits import read_policy, read_propensities, read_visits
    from ssi_core.evaluation.bootstrap import estimate_clicks, lacking
    from ssi_core.evaluation.click_log import read_log
    from ssi_core.evaluation.documents_above import documents_above
    from ssi_core.evaluation.off_policy import OffPolicy
    from ssi_core.evaluation.rankings import ranking_of
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in
    from ssi_core.types import BadInput

    log = read_log(read_visits(clicks))
    fitted = load_model(model_in(directory_of(model)))
    _warn_of_own_log(model, clicks)
    threads = settings().threads or 1
    ranking = ranking_of(fitted, clicks, log.cells, among=candidates, threads=threads)  # type: ignore[arg-type]
    options = {"candidates": candidates, "rounds": rounds, "seed": seed, "most_unseen": most_unseen}
    options |= {"policy": policy, "propensities": propensities, "least_visits": least_visits}
    needs = {"most_unseen": most_unseen, "least_visits": least_visits}
    with evaluation_run("estimate", model, clicks, options) as run:
        try:
            problem = OffPolicy(
                log,
                ranking,
                read_propensities(propensities or clicks),
                policy=None if policy is None else read_policy(policy),
                known_propensities=propensities is not None,
            )
            result = estimate_clicks(problem, rounds=rounds, seed=seed, **needs)
        except BadInput as error:
            raise BadInput(f"{policy or clicks}: {error}") from error
        estimates = {name: one and asdict(one) for name, one in result.items()}
        above, support = documents_above(log), problem.facts(log.count())
        run.measured({"documents_above/z": above.z, "documents_above/showings": above.showings})
        for name, numbers in estimates.items():
            run.measured({f"{name}/{of}": number for of, number in (numbers or {}).items()})
    value: dict[str, object] = {"model": model, "clicks": str(clicks), "sessions": log.sessions}
    value |= {"candidates": candidates, "rounds": rounds, "seed": seed, "run_id": run.run_id}
    value |= {"estimates": estimates, "documents_above": asdict(above)}
    left_out = {name: lacking(support[name], **needs) for name, one in result.items() if not one}
    value["left_out"] = left_out

    def show(console: Console) -> None:
        head = ["estimator", "clicks a visit", "95 %", "gain, 95 %", "visits", "never shown"]
        console.print(plain_table(head, [_cells(name, one) for name, one in result.items()]))
        supported = [one for one in result.values() if one is not None]
        if max(abs(one.mean_weight - 1) for one in supported) > _FAR:
            console.print("The weights do not average 1: the policy is not that of the log, or the "
                          "log is short.")  # fmt: skip
        if min(one.visits for one in supported) < _FEW:
            console.print(f"Intervals by fewer than {_FEW} effective visits are too narrow.")
        for name, why in left_out.items():
            console.print(f"{name} is left out: {why}")
        console.print(_of_above(above))
        console.print(f"run {run.run_id} of evaluations", style="dim")

    return Outcome(value, show)


def _of_above(above: Above) -> str:
    """Return a sentence on the assumption of all estimates."""
    if not above.showings:
        return "Whether clicks depend on the documents above is not tested: the order never varies."
    counted = f"z = {above.z:.1f}, {above.showings:,} showings"
    if not above.dependent:
        return f"No sign that clicks depend on the documents above ({counted})."
    if above.z > 0:
        return f"Clicks depend on the documents above ({counted}), which no estimate allows for."
    return (
        f"Clicks depend on the documents above ({counted}): visitors stop where they have found "
        "something. All estimates and intervals are too high for an order that is clicked earlier. "
        "Compare orders by them, and try the best one on a share of the visits."
    )


def _warn_of_own_log(model: str, clicks: Path) -> None:
    """Warn where a model has learnt from the log: its estimates would be too high."""
    from flows import environment
    from flows.tracking import training_of
    from ssi_core import store
    from ssi_core.corpus.clicks.before import logs_of
    from ssi_core.store_listing import list_store

    key = training_of(model).get("corpus")
    if not key:
        return
    learnt = [one.path for one in list_store(environment.home()) if one.key == key]
    logs = logs_of(clicks)
    same = sorted({logs[one] for place in learnt for one in logs_of(place) if one in logs})
    if key == store.read(clicks).key or same:
        logging.getLogger(__name__).warning(
            "%s: the model has learnt from %s; its estimates are too high. Take a log that it has "
            "not seen.", clicks, ", ".join(same) or "these clicks",
        )  # fmt: skip


def _cells(name: str, one: Estimate | None) -> list[str]:
    if one is None:
        return [name, "left out", *[""] * 4]
    return [
        name,
        f"{one.value:.4f}",
        f"{one.low:.4f} .. {one.high:.4f}",
        "" if name == "logged" else f"{one.gain_low:+.4f} .. {one.gain_high:+.4f}",
        f"{one.visits:,.0f}",
        f"{one.never_shown:.1%}",
    ]


def _read_ads(path: Path) -> list[Document]:
    from ssi_core.corpus.clicks.columns import TextForm
    from ssi_core.corpus.clicks.texts import Listed
    from ssi_core.corpus.tables.form import TableForm
    from ssi_core.serving.live import Document

    table = Listed(path, TextForm(), TableForm()).table()
    return [Document(*row) for row in table.select("id", "title", "text").iter_rows()]
