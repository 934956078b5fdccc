"""Codes of points in a plane, after figures 3 and 4 of the paper on self-taught hashing.

    python -m benchmarks.toys [--save FILE]

1,000 points to train and 1,000 to test, 16 bits, a Gaussian kernel of sigma .1, and a graph of 25
neighbours with the heat kernel, which sees how far a point is from the centre; a cosine does not.
Five draws of the points. The paper shows pictures of the cuts and no numbers.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.files import write_result
from ssi_core.guests.codes.base import Hasher
from ssi_core.guests.codes.measures import ball_measures
from ssi_core.guests.codes.packed import unpack
from ssi_core.guests.codes.projections import RandomPlanes, SpectralHashing
from ssi_core.guests.codes.sth import KernelSelfTaught, SelfTaught

POINTS, BITS, NEAR, DRAWS = 1000, 16, 25, 5


def pie(n: int, random: np.random.Generator) -> tuple[Any, Any]:
    """Points of a circle, uniform, and no classes."""
    radius, angle = np.sqrt(random.random(n)), random.random(n) * 2 * np.pi
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), None


def two_moons(n: int, random: np.random.Generator) -> tuple[Any, Any]:
    """Two half circles that reach into each other, and the number of each point's moon."""
    moon, angle = random.integers(0, 2, n), random.random(n) * np.pi
    x = np.where(moon == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(moon == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.column_stack([x, y]) + random.normal(0, 0.05, (n, 2)), moon.astype(np.int32)


SETS = {"pie": pie, "two-moon": two_moons}
HASHERS: dict[str, Hasher] = {
    "STH, Gaussian SVM": KernelSelfTaught(BITS, similarity="heat", width=0.1, sigma=0.1),
    "the same, cosine graph": KernelSelfTaught(BITS, sigma=0.1),
    "STH, linear SVM": SelfTaught(BITS, similarity="heat", width=0.1),
    "spectral hashing": SpectralHashing(BITS),
    "LSH": RandomPlanes(BITS),
}


def measure(hasher: Hasher, draw: int, name: str) -> dict[str, float]:
    """Return measures of the codes of one draw of a set."""
    random = np.random.default_rng(draw)
    (train, classes), (test, other) = (SETS[name](POINTS, random) for _ in range(2))
    fitted = hasher.fit(sparse.csr_array(train))
    codes = fitted.encode(sparse.csr_array(test))
    bits = unpack(codes, BITS).astype(float)
    varied = bits[:, bits.std(axis=0) > 0]
    alike = np.abs(np.corrcoef(varied.T)[np.triu_indices(varied.shape[1], 1)])
    values = {
        "codes": float(len(np.unique(codes))),
        "balance": float(np.abs(bits.mean(axis=0) - 0.5).mean()),
        "correlation": float(alike.mean()),
    }
    if classes is not None:
        agreement = np.mean(bits == other[:, None], axis=0)
        values["best_bit"] = float(np.maximum(agreement, 1 - agreement).max())
        inside = ball_measures(fitted.codes, classes, codes, other)
        return values | {n: float(inside[n].mean()) for n in ("precision", "recall", "accuracy")}
    far = ((test[:, None] - train[None]) ** 2).sum(axis=2)
    near = np.zeros(far.shape, bool)
    np.put_along_axis(near, np.argpartition(far, NEAR, axis=1)[:, :NEAR], True, axis=1)
    ball = np.bitwise_count(codes[:, None, 0] ^ fitted.codes[None, :, 0]) <= 1
    right, size = (ball & near).sum(axis=1), ball.sum(axis=1)
    precision = float((right / np.maximum(size, 1)).mean())
    return values | {"precision": precision, "recall": float((right / NEAR).mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    save = parser.parse_args().save
    result: dict[str, Any] = {"points": POINTS, "bits": BITS, "near": NEAR, "draws": DRAWS}
    for name in SETS:
        result[name] = {}
        for label, hasher in HASHERS.items():
            draws = [measure(hasher, draw, name) for draw in range(DRAWS)]
            row = {}
            for key in draws[0]:
                values = np.array([one[key] for one in draws])
                row[key] = float(values.mean())
                row[f"{key}_se"] = float(values.std(ddof=1) / np.sqrt(DRAWS))
            result[name][label] = row
            shown = ", ".join(f"{k} {v:.3f}" for k, v in row.items() if not k.endswith("_se"))
            print(f"{name}, {label}: {shown}", flush=True)
    if save is not None:
        write_result(save, result)


if __name__ == "__main__":
    main()
