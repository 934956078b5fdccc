"""Adam: a step on all entries of an array, in a single pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit_fast


@jit_fast
def adam_step(
    values: NDArray[np.float32],
    gradient: NDArray[np.float32],
    mean: NDArray[np.float32],
    square: NDArray[np.float32],
    rate: Any,
    decays: Any,
) -> None:
    """Change ``values`` in place (Kingma and Ba 2015).

    ``mean`` and ``square`` are the running averages of the gradient and of its square, not
    corrected for their start: the caller puts that into the rate.

    Parameters
    ----------
    values, gradient, mean, square : float32 (n,)
        Parameters, their gradient, and the two running averages, which are updated.
    rate : float32
        Step size, corrected for the start of the averages.
    decays : object
        Float32 of the mean, and of the square.
    """
    first, second = decays
    one, small = np.float32(1), np.float32(1e-8)
    for i in range(values.shape[0]):
        slope = gradient[i]
        mean[i] = first * mean[i] + (one - first) * slope
        square[i] = second * square[i] + (one - second) * slope * slope
        values[i] -= rate * mean[i] / (np.sqrt(square[i]) + small)
