"""Weights of LSI at the start of a training, on validation queries.

    python -m benchmarks.lsi_start LABEL=DATA:KIND ... [--weights 0 0.5 2 4] [--pairs 600]

DATA and KIND are those of `benchmarks.expect`. Each weight is trained as a stranger would call it,
`SSI()` where documents are queries or have no fields, the latent part beside BM25F elsewhere, on up
to three divisions of the set with two seeds each; a line is the mean MAP on validation. The weight
of "typed" was chosen by this.
"""

from __future__ import annotations

import argparse
import os

import numpy as np

import ssi_core as ssi
from benchmarks import expect
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.tasks.kinds import fields_of


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lsi_start", description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="LABEL=DATA:KIND")
    parser.add_argument("--weights", type=float, nargs="*", default=[0.0, 0.5, 2.0, 4.0])
    parser.add_argument("--pairs", type=int, default=None)
    given = parser.parse_args()
    for label, place in (one.split("=", 1) for one in given.tasks):
        data, kind = place.rsplit(":", 1)
        divisions = ssi.Task.of(ssi.read(data), **fields_of(kind)).divisions[:3]
        parts = [expect.share_of(task, given.pairs) for task in divisions]
        cells = []
        for weight in given.weights:
            means = []
            for part in parts:
                model = expect.model_of(part, ssi.SSI(lsi_weight=weight))
                for seed in range(2):
                    fit = model.fit(part, np.random.default_rng([seed]))
                    report = evaluate(fit, part, side="valid", queries=10_000, tuples=0)
                    means.append(report.means[expect.MEASURE])
            cells.append(f"{np.mean(means):.3f}")
        print(f"| {label} | {kind} | {len(parts[0].train):,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
