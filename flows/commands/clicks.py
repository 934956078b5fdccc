"""Verbs of click logs: match, estimate."""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ssi_core.command.fields import DIRECTORY, FILE, argument, option
from ssi_core.command.models import directory_of
from ssi_core.command.options import INDEX, SEED, K
from ssi_core.command.search import searcher_of
from ssi_core.command.verb import Outcome, settings, verb

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.live.searcher import Document
    from ssi_core.guests.off_policy.bootstrap import Estimate
    from ssi_core.guests.off_policy.documents_above import Above


@dataclass(frozen=True, kw_only=True)
class MatchSettings:
    """Settings of ``ssi rank match``."""

    model: str = argument("MODEL")
    page: str = argument("PAGE")
    k: int = K
    index: Path | None = INDEX
    pages: Path | None = option(
        None, "Collection in which PAGE is the title or the id of a document.", type=DIRECTORY
    )
    new_ads: Path | None = option(
        None,
        "Table of ads that the index does not have, with the columns id and text (CSV, TSV, ...).",
        type=FILE,
    )


@verb(
    MatchSettings,
    examples=(
        "ssi rank match models:/ssi@champion page.txt",
        'ssi rank match runs/abc "Horse" --pages clicks -k 5',
        "curl -s example.org | ssi rank match runs/abc - --new-ads new.tsv --json",
    ),
)
def match(given: MatchSettings) -> Outcome:
    """Find ads for a page, best first.

    PAGE is a text file, - for standard input, or a title with --pages. New ads (--new-ads) are
    matched at once, without training.
    """
    from ssi_core.command.text import plain_table
    from ssi_core.guests.live.page import page_text
    from ssi_core.guests.live.searcher import LiveSearcher
    from ssi_core.serving.nothing import nothing_found

    text = sys.stdin.read() if given.page == "-" else page_text(given.page, given.pages)
    searcher = LiveSearcher(searcher_of(given.model, given.index))
    if given.new_ads is not None:
        searcher = searcher.put(_read_ads(given.new_ads))
    answer = searcher.search([text], given.k)[0]
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


_FAR, _FEW = 0.1, 30
"""Distance of the mean weight from 1, and effective visits, that are worth a word."""


@dataclass(frozen=True, kw_only=True)
class EstimateSettings:
    """Settings of ``ssi lab estimate``."""

    model: str = argument("MODEL")
    clicks: Path = option(
        ...,
        "Collection of clicks that the model has not learned from, made by 'ssi data ingest clicks "
        "--clicks weighted'.",
        flag="--log",
        type=DIRECTORY,
    )
    candidates: Literal["all", "shown"] = option(
        "all",
        "Ads that the model ranks for a page: all, or those that the log shows on that page.",
    )
    policy: Path | None = option(
        None,
        "Table with the columns query, document, position, probability: how likely a visit to the "
        "query showed the document at that position. [default: the frequencies of the log]",
        type=FILE,
    )
    propensities: Path | None = option(
        None,
        "Table with the columns position and propensity. [default: those that the clicks were "
        "ingested with, estimated again in each resample]",
        type=FILE,
    )
    most_unseen: float = option(
        0.0,
        "Maximum share of the model's results that the log may say nothing about.",
        ge=0,
        le=1,
    )
    least_visits: float = option(
        10.0, "Minimum number of effective visits that an estimator needs.", ge=0
    )
    rounds: int = option(1000, "Number of resamples of the sessions.", ge=2)
    seed: int = SEED


@verb(
    EstimateSettings,
    examples=(
        "ssi lab estimate models:/ssi@champion --log tuesday",
        "ssi lab estimate runs/abc --log tuesday --candidates shown --json",
        "ssi lab estimate runs/abc --log tuesday --policy policy.csv",
    ),
)
def estimate(given: EstimateSettings) -> Outcome:
    r"""Estimate from a click log how often a model's order would be clicked.

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
    from flows.tracking import evaluation_run
    from ssi_core.command.text import plain_table
    from ssi_core.guests.off_policy.bootstrap import estimate_clicks, lacking
    from ssi_core.guests.off_policy.click_log import read_log
    from ssi_core.guests.off_policy.documents_above import documents_above
    from ssi_core.guests.off_policy.off_policy import OffPolicy
    from ssi_core.guests.off_policy.rankings import ranking_of
    from ssi_core.guests.off_policy.visits import read_policy, read_propensities, read_visits
    from ssi_core.models import load_model
    from ssi_core.serving.searcher import model_in
    from ssi_core.types import BadInput

    log = read_log(read_visits(given.clicks))
    fitted = load_model(model_in(directory_of(given.model)))
    _warn_of_own_log(given.model, given.clicks)
    threads = settings().threads or 1
    ranking = ranking_of(fitted, given.clicks, log.cells, among=given.candidates, threads=threads)
    options: dict[str, object] = {
        "candidates": given.candidates,
        "rounds": given.rounds,
        "seed": given.seed,
        "most_unseen": given.most_unseen,
    }
    options |= {
        "policy": given.policy,
        "propensities": given.propensities,
        "least_visits": given.least_visits,
    }
    needs = {"most_unseen": given.most_unseen, "least_visits": given.least_visits}
    with evaluation_run("estimate", given.model, given.clicks, options) as run:
        try:
            problem = OffPolicy(
                log,
                ranking,
                read_propensities(given.propensities or given.clicks),
                policy=None if given.policy is None else read_policy(given.policy),
                known_propensities=given.propensities is not None,
            )
            result = estimate_clicks(problem, rounds=given.rounds, seed=given.seed, **needs)
        except BadInput as error:
            raise BadInput(f"{given.policy or given.clicks}: {error}") from error
        estimates = {name: one and asdict(one) for name, one in result.items()}
        above, support = documents_above(log), problem.facts(log.count())
        run.measured({"documents_above/z": above.z, "documents_above/showings": above.showings})
        for name, numbers in estimates.items():
            run.measured({f"{name}/{of}": number for of, number in (numbers or {}).items()})
    value: dict[str, object] = {
        "model": given.model,
        "clicks": str(given.clicks),
        "sessions": log.sessions,
    }
    value |= {
        "candidates": given.candidates,
        "rounds": given.rounds,
        "seed": given.seed,
        "run_id": run.run_id,
    }
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
    from ssi_core.guests.click_logs.before import logs_of
    from ssi_core.guests.upkeep.listing import list_store

    key = training_of(model).get("corpus")
    if not key:
        return
    learnt = [one.path for one in list_store(environment.home()) if one.key == key]
    logs = logs_of(clicks)
    same = sorted({logs[one] for path in learnt for one in logs_of(path) if one in logs})
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
    from ssi_core.corpus.tables.form import TableForm
    from ssi_core.guests.click_logs.texts import Listed, TextForm
    from ssi_core.guests.live.searcher import Document

    table = Listed(path, TextForm(), TableForm()).table()
    return [Document(*row) for row in table.select("id", "title", "text").iter_rows()]
