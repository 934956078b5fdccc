"""A dense W on whole texts: triples a CPU second by single steps and by runs of a query's pairs.

    python -m benchmarks.pair_runs TASK [--view raw@10000] [--negatives 1,8] [--rounds 5]

Both begin with the identity and take turns, round by round; medians are printed.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from statistics import median

from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.word_pairs import WordPairs, _Training
from ssi_core.tasks.task import open_task
from ssi_core.training.sgd import Sgd

_SETTINGS = {"rate": 0.02, "margin": 0.03, "alpha": 1.0, "negatives_power": 0.0}
_TRIPLES = {"triple": 150, "block": 4000}


def main() -> None:
    """Print the speeds of each number of documents tried, and their ratio."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("task", type=Path)
    given.add_argument("--view", default="raw@10000")
    given.add_argument("--negatives", default="1,8")
    given.add_argument("--rounds", type=int, default=5)
    asked = given.parse_args()
    task = open_task(asked.task)
    model = WordPairs(form="dense", diagonal="none", initial="identity", view=asked.view)
    print("tried  triple  block  ratio  violated")
    for negatives in map(int, asked.negatives.split(",")):
        trainings: dict[str, Sgd] = {}
        for step in _TRIPLES:
            one = dataclasses.replace(model, step=step, negatives=negatives)
            trainings[step] = _Training(one, task, 0, FitOptions()).begin(_SETTINGS)
            trainings[step].sweep(10)  # compiles
        speeds: dict[str, list[float]] = {step: [] for step in _TRIPLES}
        for _ in range(asked.rounds):
            for step, triples in _TRIPLES.items():
                start = time.process_time()
                measures = trainings[step].sweep(triples)
                speeds[step].append(triples / (time.process_time() - start))
        ratio = median(b / t for t, b in zip(speeds["triple"], speeds["block"], strict=True))
        triple, block = (median(speeds[step]) for step in _TRIPLES)
        violated = measures["train/violated"]
        print(f"{negatives:5}  {triple:6.0f}  {block:5.0f}  {ratio:5.1f}  {violated:8.2f}")


if __name__ == "__main__":
    main()
