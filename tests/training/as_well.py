"""Two threads learn as much from so many triples as one, and more than one from half of them."""

from dataclasses import replace

import numpy as np

from ssi_core.training import sgd

PHASES = ("budget", "epoch", "functional_budget")
"""Settings of a model that count triples."""


def assert_two_threads_learn_as_well(model, task, triples, monkeypatch):
    """Train with few triples, in pieces of 10, so that both threads have some; six seeds.

    The validation loss of two threads is nearer to that of one than to that of half the triples,
    which is what a thread whose work is lost would leave.
    """
    monkeypatch.setattr(sgd, "_PIECE", 10)

    def loss(triples, threads):
        phases = {name: triples for name in PHASES if hasattr(model, name)}
        few = replace(model, **phases)
        fits = [few.fit(task, np.random.default_rng(n), threads=threads) for n in range(6)]
        assert {fit.facts["threads"] for fit in fits} == {threads}
        return np.mean([fit.facts["validation_rank_loss"] for fit in fits])

    one, two, half = loss(triples, 1), loss(triples, 2), loss(triples // 2, 1)
    assert half > 1.2 * one
    assert abs(two - one) < (half - one) / 2
