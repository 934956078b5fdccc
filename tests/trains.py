"""Tests that train: their results differ a little on another processor, and must not matter.

A test that trains a model, or uses one that a fixture trains, bears the marker ``trains``; those
are run once more under other kernels (``make other-kernels``). Where a test trains without it, it
fails, so that none is forgotten; a training in another process is not seen.
"""

from __future__ import annotations

from functools import wraps
from importlib.util import find_spec

import pytest

FIXTURES = {"project", "here", "fits", "row_worker", "prefect_server", "flow_runs"}
"""Fixtures that train; a test that uses one needs no marker of its own."""

_MARKERS = ("trains", "slow")
"""A slow test is run under one kernel only, whether it trains or not."""


def mark(items: list[pytest.Item]) -> None:
    """Mark the tests that use a fixture that trains."""
    for item in items:
        if FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("trains")


class Guard:
    """Fails the test that runs, if it trains and does not bear the marker."""

    item: pytest.Item | None = None

    def install(self) -> None:
        """Look at every training from now on."""
        from ssi_core.models.latent import cl_lsi, lsi, softmax
        from ssi_core.training.sgd import Sgd

        for owner in (Sgd, softmax.Training):
            owner.sweep = self._guarded(owner.sweep)
        for module in (lsi, cl_lsi):
            module.leading_vectors = self._guarded(module.leading_vectors)
        if find_spec("ssi_core.guests"):
            from ssi_core.guests.clickthrough import opca, pca, s2net

            s2net.Training.sweep = self._guarded(s2net.Training.sweep)
            for module in (opca, pca):
                module.leading_eigenvectors = self._guarded(module.leading_eigenvectors)

    def _guarded(self, train):
        @wraps(train)
        def guarded(*args, **kwargs):
            item = self.item
            subsets = item is None or any(item.get_closest_marker(name) for name in _MARKERS)
            assert subsets, f"{item.nodeid} trains: mark it with pytest.mark.trains"
            return train(*args, **kwargs)

        return guarded
