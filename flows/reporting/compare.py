"""A comparison: the rows of a table side by side, with errors, tests, and what the paper prints."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from flows import tracking
from flows.reporting.comparison_tests import (
    against_baseline,
    baseline_of,
    judged,
    object_of,
    test_of,
)
from flows.reporting.comparisons import latest
from flows.reporting.folds import BETWEEN, pool
from flows.reporting.partial_table import measured
from flows.reporting.reached_code import reached_by
from flows.reporting.report import markdown, render
from flows.reporting.result_file import comparison_of, settings_digest
from flows.reporting.verdicts import claims_line, counts
from ssi_core.evaluation.claims import average_seeds, twins
from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.evaluation.slices import of_reports
from ssi_core.experiment import PrintedRow, Published, Row, Table
from ssi_core.types import BadInput, Float64, Report

__all__ = ["Loaded", "best_row", "compare", "load", "render", "results", "summarise"]


@dataclass(frozen=True)
class Loaded:
    """The finished rows of a comparison.

    Attributes
    ----------
    table : Table
        As it was when the rows were computed.
    runs : sequence of FinishedRow
        In the order of the table, then by seed.
    reports : mapping
        Label -> the reports of its seeds.
    means : mapping
        Label -> frame of id and measures, averaged over seeds.
    code : str or None
        Digest of the code that its name stands for, if that is the code of today.
    """

    experiment: str
    comparison: str
    table: Table
    runs: Sequence[tracking.FinishedRow]
    reports: Mapping[str, Sequence[Report]]
    means: Mapping[str, pl.DataFrame]
    code: str | None = None

    @property
    def rows(self) -> list[Row]:
        """Rows of the table that have a finished run."""
        return [row for row in self.table.rows if row.label in self.reports]


def load(experiment: str, comparison: str | None = None) -> Loaded:
    """Read the finished rows of a comparison; of the newest one of the table unless it is named.

    Several names with commas between them are those of the folds of one collection, which are read
    as one comparison (`folds.pool`).

    Raises
    ------
    BadInput
        There is no such experiment or comparison, or no row of it is finished; or folds do not fit
        together.
    """
    names = (comparison or latest(experiment)).split(BETWEEN)
    loaded = [_load(experiment, name) for name in names]
    return loaded[0] if len(loaded) == 1 else pool(loaded)


def _load(experiment: str, comparison: str) -> Loaded:
    finished = tracking.finished_rows(experiment, comparison)
    if not finished:
        raise BadInput(
            f"comparison {comparison!r} of {experiment!r} has no finished row yet. "
            f"'ssi compare {experiment} --list' lists those that have."
        )
    table = tracking.run_table(finished[0].run_id)
    order = {row.label: n for n, row in enumerate(table.rows)}
    runs = sorted(
        (run for run in finished if run.label in order),
        key=lambda run: (order[run.label], run.seed),
    )
    reports: dict[str, list[Report]] = {}
    for run in runs:
        reports.setdefault(run.label, []).append(tracking.run_report(run.run_id, run.artifacts))
    try:
        means = {label: average_seeds(runs_of_label) for label, runs_of_label in reports.items()}
    except ValueError as error:
        raise BadInput(f"comparison {comparison!r}: {error}") from error
    keys = {table.row(run.label).task: run.data.get("task", "") for run in runs}
    code = reached_by(*table.rows) if comparison_of(table, keys) == comparison else None
    return Loaded(experiment, comparison, measured(table, reports), runs, reports, means, code)


def compare(experiment: str, comparison: str | None = None) -> dict[str, Any]:
    """Compare the rows of a comparison; see `results`."""
    return results(load(experiment, comparison))


def results(loaded: Loaded) -> dict[str, Any]:
    """Return a comparison as one JSON object.

    ``rows``: a run each, with its metrics. ``summary``: a row of the table each, averaged over
    seeds query by query, with standard errors over queries and sd over seeds, the printed values,
    the measures of each slice, and the row that it is the twin of (``same_as``). ``printed``: rows
    that only the paper has. ``tests``: every row against the baseline, and the pairs of the claims;
    ``difference`` is mean of a minus mean of b, ``p_adjusted`` is by Holm over its family, and
    ``bound`` says that both p are upper bounds. ``claims``: verdicts of the randomisation test on
    ``rows``, which are those of the claim or stand in their places (``like`` of the summary);
    ``systems`` are the first rows that have the same values, so that claims with the same ones and
    measure are one. ``counts``: their verdicts, on their own rows and on stand-ins. ``settings``:
    digest of what the table computes. ``code``: digest of the definitions that training and
    measuring its rows can reach; null where code has changed since. ``data``: keys of its tasks and
    their corpora. ``missing``: labels without a finished run; ``reasons``: why runs failed, by
    label.
    """
    table = loaded.table
    labels = set(loaded.reports)
    same = twins(loaded.means)
    try:
        verdicts, by_t = (judged(table, loaded.reports, test) for test in ("randomisation", "t"))
    except ValueError as error:
        raise BadInput(f"comparison {loaded.comparison!r}: {error}") from error
    reports = [report for reports_of_row in loaded.reports.values() for report in reports_of_row]
    return {
        "experiment": loaded.experiment,
        "comparison": loaded.comparison,
        "settings": settings_digest(table),
        "code": loaded.code,
        "data": {table.row(run.label).task: dict(run.data) for run in loaded.runs},
        "title": table.title,
        "measures": list(table.measures),
        "source": table.source,
        "note": table.note,
        "baseline": baseline_of(table, loaded.rows, loaded.rows[0]).label,
        "bounds": dict(reports[0].bounds),
        "rows": [
            {"label": r.label, "seed": r.seed, "run_id": r.run_id, "metrics": dict(r.metrics)}
            for r in loaded.runs
        ],
        "summary": [_summary(loaded, row, same[row.label]) for row in loaded.rows],
        "printed": [_of_print(row) for row in table.printed],
        "tests": against_baseline(table, loaded.rows, loaded.means, same)
        + [test_of(verdict) for verdict in verdicts + by_t],
        "claims": (claims := [object_of(verdict) for verdict in verdicts]),
        "counts": counts(claims),
        "missing": [row.label for row in table.rows if row.label not in labels],
        "reasons": {
            label: reason
            for name in loaded.comparison.split(BETWEEN)
            for label, reason in tracking.reasons(loaded.experiment, name).items()
        },
    }


def _of_print(row: PrintedRow) -> dict[str, Any]:
    return {"label": row.label, "paper": _written(row.paper), "note": row.note}


def _written(paper: Published) -> dict[str, Any]:
    return {k: v for k, v in asdict(paper).items() if v is not None}


def _summary(loaded: Loaded, row: Row, same: str) -> dict[str, Any]:
    reports, frame = loaded.reports[row.label], loaded.means[row.label]
    measures = {}
    for name in reports[0].means:
        seeds = [report.means[name] for report in reports]
        if name in frame.columns:
            values = frame[name].to_numpy()
            error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else None
        else:
            error = reports[0].errors.get(name)
        measures[name] = {
            "mean": float(np.mean(seeds)),
            "se": float(error) if error is not None and math.isfinite(error) else None,
            "sd_seeds": float(np.std(seeds, ddof=1)) if len(seeds) > 1 else None,
        }
    return {
        "label": row.label,
        "seeds": len(reports),
        "queries": len(frame),
        "candidates": reports[0].candidates,
        "triples": _mean(loaded, row, "train/triples"),
        "seconds": _mean(loaded, row, "usage/row_seconds"),
        "measures": measures,
        "paper": _written(row.paper),
        "note": row.note,
        "like": row.like,
        "same_as": None if same == row.label else same,
        "chosen": dict(next(run.chosen for run in loaded.runs if run.label == row.label)),
        "slices": of_reports(reports),
    }


def _mean(loaded: Loaded, row: Row, metric: str) -> float | None:
    # Over the seeds of a row; None: no run has it.
    of_runs = [run.metrics for run in loaded.runs if run.label == row.label]
    values = [metrics[metric] for metrics in of_runs if metric in metrics]
    return float(np.mean(values)) if values else None


def best_row(comparison_results: Mapping[str, Any], measure: str = "map") -> str:
    """Return the label of the row that is best in a measure."""
    sign = -1 if measure in LOWER_IS_BETTER else 1
    best = max(
        comparison_results["summary"], key=lambda row: sign * row["measures"][measure]["mean"]
    )
    return str(best["label"])


def summarise(
    experiment: str,
    comparison: str | None = None,
    comparison_results: Mapping[str, Any] | None = None,
) -> str:
    """Write the summary run of a comparison: the JSON, a page to read, and pictures.

    Parameters
    ----------
    experiment, comparison : str, str or None
        As in `compare`.
    comparison_results : mapping or None
        What `compare` returned, if it was called.

    Returns
    -------
    id of the run
    """
    from flows.reporting import plots  # takes a second to load

    loaded = load(experiment, comparison)
    comparison_results = comparison_results or results(loaded)
    summary, base = comparison_results["summary"], comparison_results["baseline"]
    measures = [name for name in loaded.table.measures if name in summary[0]["measures"]]
    series = {
        name: [_number(row["measures"][name]["mean"]) for row in summary] for name in measures
    }
    errors = {name: [_number(row["measures"][name]["se"]) for row in summary] for name in measures}
    labels = [row["label"] for row in summary]
    figures = {"plots/measures.png": plots.bars(labels, series, errors, baseline=base)}
    curves = {
        run.label: tracking.run_curve(run)
        for run in reversed(loaded.runs)  # the first seed of a row stays
    }
    if trained := {label: curves[label] for label in labels if curves[label]}:
        figures["plots/training.png"] = plots.training_curves(trained)
    if panels := _learning(loaded, curves):
        figures["plots/learning.png"] = plots.learning_curves(panels)
    for number, (label, against) in enumerate(
        _scattered(loaded, best_row(comparison_results), base), 1
    ):
        x, y = (_drawn(loaded.means[one]["map"].to_numpy()) for one in (against, label))
        figures[f"plots/average_precision_{number}.png"] = plots.scatter(x, y, against, label)
    page = markdown(comparison_results)
    return tracking.log_summary(
        experiment,
        loaded.comparison,
        title=f"summary: {len(labels)} rows",
        note=page,
        facts={
            **{f"best_{name}": best_row(comparison_results, name) for name in measures},
            "claims": claims_line(comparison_results["claims"]),
        },
        files={
            "comparison.json": json.dumps(comparison_results, indent=1, ensure_ascii=False),
            "comparison.md": page,
        },
        figures=figures,
    )


def _learning(loaded: Loaded, curves: Mapping[str, tracking.Curve]) -> dict[str, Any]:
    # Panel -> row -> curve, for rows that followed the test side: a panel per share of the pairs.
    # A label that ends with its share, as in "N = 50 (4 %)", goes without it.
    panels: dict[str, dict[str, Any]] = {}
    for row in loaded.rows:
        if any("curve/test_rank_loss" in metrics for _, metrics in curves[row.label]):
            share = f"{100 * float(row.parameters.get('pairs', 1)):g} %"
            label = row.label.removesuffix(f" ({share})")
            panels.setdefault(f"{share} of the pairs", {})[label] = curves[row.label]
    return panels


def _scattered(loaded: Loaded, best: str, base: str) -> list[tuple[str, str]]:
    # Pairs of rows to draw query by query: those that the table names, else best and baseline.
    pairs = loaded.table.scatter or ((best, base),)
    frames = loaded.means
    return [
        (label, against)
        for label, against in pairs
        if label != against
        and {label, against} <= set(frames)
        and frames[label]["id"].equals(frames[against]["id"])
    ]


_QUERIES_DRAWN = 500
"""Queries of a scatter plot, as many as in Figure 1 of Bai et al. (2010)."""


def _drawn(values: Float64) -> Float64:
    """Return the values of 500 queries, the same ones for every row; of all if there are fewer."""
    if len(values) <= _QUERIES_DRAWN:
        return values
    return values[np.random.default_rng(0).permutation(len(values))[:_QUERIES_DRAWN]]


def _number(value: float | None) -> float:
    return math.nan if value is None else value
