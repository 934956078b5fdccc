"""What the weights of pairs, and models trained on them, make of simulated logs of known relevance.

    python -m tests.guests.click_logs.simulated_study --out docs/results/clicks-simulated.json

NDCG@5 by the true relevance, for 40,000 visits to 50 pages of twelve ads (`policies`).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core.files import write_result
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import Task
from tests.guests.click_logs import logs
from tests.guests.click_logs.policies import (
    FORM,
    POLICIES,
    log_of,
    ndcg_at_5,
    relevance_of,
)

COMMAND = (
    "python -m tests.guests.click_logs.simulated_study --out docs/results/clicks-simulated.json"
)
VISITS, PAGES = 40_000, 50
PAIRS = {
    "pairs, `all`: clicks / unclicked showings": ("all", True),
    "pairs, `first`: clicks / unclicked showings": ("first", True),
    "pairs, `weighted`: relevance": ("weighted", True),
    "pairs, `inverse`: sums / showings": ("inverse", True),
    "pairs, before: sums alone": ("inverse", False),
}
"""Label -> ``--clicks``, and whether weights are divided by how often training draws d- there."""
MODELS = {
    "`U'V` against random, before": ("before", "random"),
    "`U'V` against shown, before": ("before", "shown"),
    "`U'V` against random, `weighted`": ("weighted", "random"),
    "`U'V` against shown, `weighted`": ("weighted", "shown"),
    "`U'V` against shown, `inverse`": ("inverse", "shown"),
}
"""Label -> ``--clicks``, and ``against``. Before: sums alone, and d- that were not clicked."""


def of_pairs(task: Task, divided: bool, truth: np.ndarray) -> float:
    """Return NDCG@5 of the training pairs of a task, in the order of w+ / w-."""
    size = (len(task.queries), len(task.documents))
    liked, drawn = np.zeros(size), np.zeros(size)
    liked[tuple(task.train.rows.T)] = task.train.weight
    query = np.repeat(np.arange(size[0]), np.diff(task.train.shown.start))
    np.add.at(drawn, (query, task.train.shown.documents), 1)
    return judged(task, liked / np.maximum(drawn, 1) if divided else liked, truth)


def of_model(task: Task, against: str, truth: np.ndarray) -> float:
    """Return NDCG@5 of a model that is trained on a task."""
    how = {"budget": 3_000_000, "patience": 60, "rate_by": "validation"}
    model = Bilinear(diagonal="none", dimensions=50, against=against, **how)
    fitted = model.fit(task, np.random.default_rng([0]))
    scorer = Scorer(fitted.embed_documents(task.documents))
    return judged(task, scorer.score(fitted.embed_queries(task.queries)), truth)


def judged(task: Task, scores: np.ndarray, truth: np.ndarray) -> float:
    """Return NDCG@5 of scores of pages with ads, in the rows of the task."""
    page, ad = (
        texts.ids.str.slice(1).cast(pl.Int64).to_numpy() for texts in (task.queries, task.documents)
    )
    table = np.zeros((len(truth), truth.size))
    table[np.ix_(page, ad)] = scores
    own = np.arange(truth.size).reshape(truth.shape)
    return ndcg_at_5(truth, np.take_along_axis(table, own, axis=1))


def rows(work: Path) -> Iterator[tuple[str, str, float]]:
    """Yield label, policy and NDCG@5."""
    truth = relevance_of(PAGES)
    for policy in POLICIES:
        log = work / f"{policy}.csv"
        log_of(policy, truth, VISITS).write_csv(log)
        tasks = {}
        for rule in ("all", "first", "weighted", "inverse"):
            clicks, task = work / f"{policy} {rule}", work / f"task {policy} {rule}"
            logs.ingest([log], FORM, clicks, rules=Rules(clicks=rule))
            build_task(clicks, task, split="users", vocabularies="two", relevant="click")
            tasks[rule] = open_task(task)
        shown = tasks["all"].train.shown
        before = replace(tasks["inverse"].train, weighing="clicks", shown=shown)
        tasks["before"] = replace(tasks["inverse"], train=before)
        for label, (rule, divided) in PAIRS.items():
            yield label, policy, of_pairs(tasks[rule], divided, truth)
        for label, (rule, against) in MODELS.items():
            yield label, policy, of_model(tasks[rule], against, truth)


def main() -> None:
    """Write the table as JSON, policy by policy, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, float]] = {label: {} for label in (*PAIRS, *MODELS)}
    with tempfile.TemporaryDirectory() as work:
        for label, policy, value in rows(Path(work)):
            found[label][policy] = round(value, 4)
            print(policy, label, found[label][policy], flush=True)
            written = {"name": "clicks-simulated", "command": COMMAND, "rows": found}
            write_result(options.out, written)


if __name__ == "__main__":
    main()
