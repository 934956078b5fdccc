"""Codes near to a code, looked up in a sorted table."""

import numpy as np
import pytest

from ssi_core.kernels.ranking.hamming import look_up


@pytest.mark.parametrize("radius", [0, 1])
@pytest.mark.parametrize(("bits", "highest"), [(6, 0), (6, 3), (6, 6), (64, 4)])
def test_what_is_looked_up_is_what_is_near(bits, highest, radius):
    random = np.random.default_rng(bits + highest)
    known = random.integers(0, 2**64, 9, np.uint64) >> np.uint64(64 - bits)
    flipped = np.uint64(1) << random.integers(0, bits, 60).astype(np.uint64)
    codes = np.sort(random.choice(known, 60) ^ flipped * (random.random(60) < 0.7))
    shift = np.uint64(bits - highest)
    tops = codes >> shift if highest else np.zeros_like(codes)
    places = np.searchsorted(tops, np.arange(2**highest + 1, dtype=np.uint64))
    rows = np.empty(len(codes), np.int32)
    for query in known:
        far = np.array([int(code ^ query).bit_count() for code in codes])
        expected = np.flatnonzero(far <= radius)
        count = look_up(codes, places, query, bits, radius, rows)
        assert set(rows[:count].tolist()) == {*expected.tolist()}
        assert (np.diff(far[rows[:count]]) >= 0).all()
