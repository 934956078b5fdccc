"""The bilinear model, trained on a GPU: the model is that of `bilinear`, its sweep is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ssi_core.bounds import Blocks
from ssi_core.models.base import Course, FittedModel
from ssi_core.models.bilinear import Bilinear, _Training
from ssi_core.training.device import THREADS, DeviceSgd, require_device
from ssi_core.training.fitting import several
from ssi_core.training.sgd import Group, Sgd
from ssi_core.types import Task


@dataclass(frozen=True)
class BilinearCuda(Bilinear):
    """``U'V`` and a diagonal, with the sweeps of the training on a GPU (numba's CUDA target).

    All else, validation too, is on the processor, and the fitted model needs no GPU. Of the
    settings of `Bilinear` these are not made on the device: form "zero", ``storage`` "float16",
    ``adagrad``, ``negatives_per_positive``, ``warp``, ``against`` "shown" and ``negatives_power``.

    Parameters
    ----------
    blocks : int
        Triples that the device works on at the same time. Their steps are taken with values of
        the parameters that the others may change meanwhile, and none is lost; their order is open,
        so that bits repeat with 1 block alone.
    others
        See `Bilinear`.
    """

    name: ClassVar[str] = "bilinear_cuda"
    blocks: Blocks = 256

    def __post_init__(self) -> None:
        """Refuse settings that the device has no kernels for."""
        super().__post_init__()
        for name, expected in _MADE.items():
            value = getattr(self, name)
            if value != expected and several(value) != (expected,):
                raise ValueError(
                    f"{name}={value!r}: the device makes {name}={expected!r} alone; "
                    "the model 'bilinear' makes the others"
                )

    @property
    def repeats(self) -> bool:
        """Tell whether the order of all steps is known: of one block."""
        return super().repeats and self.blocks == 1

    def learn(self, task: Task, rng: np.random.Generator, course: Course) -> FittedModel:
        """Train as `Bilinear.learn` does; `Refused` where there is no GPU."""
        device = require_device()
        fit = super().learn(task, rng, course)
        bits = "reproducible" if self.repeats else "not reproducible"
        return replace(fit, facts={**fit.facts, "device": f"cuda ({device}), {bits}"})

    def training(
        self, task: Task, others: Mapping[str, Task], seed: int, course: Course
    ) -> _OnDevice:
        """Return what begins trainings whose sweeps are on the device."""
        return _OnDevice(self, task, others, seed, course)

    def plain(self, **changes: Any) -> Bilinear:
        """Return the model with other settings, on the device as well."""
        return replace(self, **changes)


_MADE = {
    "form": "low_rank",
    "storage": "float32",
    "adagrad": False,
    "negatives_per_positive": 1,
    "warp": False,
    "against": "random",
    "negatives_power": 0.0,
}
"""Settings whose other values have no kernel."""


class _OnDevice(_Training):
    """Fit of a model on the device."""

    def trainee(self, groups: Mapping[str, Group]) -> Sgd:
        """Return a training of the one group."""
        assert isinstance(self.model, BilinearCuda)
        return DeviceSgd(
            groups,
            blocks=self.model.blocks,
            threads=THREADS,
            judge=self.valid,
            observe=self._observe,
        )
