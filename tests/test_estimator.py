"""Saving and loading of fitted estimators, by a small one."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest

from ssi_core.arrays import ArraySpec
from ssi_core.bounds import Dimensions
from ssi_core.estimator import Contents, Estimator, Fitted, Format
from ssi_core.types import BadInput, Refused
from tests.seals import reseal


@dataclass(frozen=True)
class Means(Estimator):
    """A number for each column, or several."""

    noun: ClassVar[str] = "mean"
    name: ClassVar[str] = "means"
    earlier: ClassVar = {"dimensions": 1}
    gone: ClassVar = frozenset({"weighted"})
    dimensions: Dimensions = 2

    def array_specs(self, sizes):
        return {"mean": ArraySpec("float64", (sizes["columns"], self.dimensions), most=1)}


@dataclass(frozen=True)
class FittedMeans(Fitted[Means]):
    settings: Means
    arrays: dict
    columns: tuple = field(default=("a", "b", "c"))
    form: ClassVar = Format("mean", "mean.json", "Take it again.", version=3, names="kind")
    kinds: ClassVar = {"means": Means}

    def contents(self):
        return Contents(self.settings, self.arrays, {"facts": {}}, {"columns": self.columns})

    @classmethod
    def restored(cls, saved):
        (columns,) = saved.strings("columns")
        specs = saved.settings.array_specs({"columns": len(columns)})
        return cls(saved.settings, saved.arrays(specs), columns)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    FittedMeans(Means(), {"mean": np.ones((3, 2))}).save("~/mean")
    return tmp_path / "mean"


@pytest.mark.parametrize("spelled", ["{}", "~/mean"])
def test_a_saved_estimator_is_the_same_when_it_is_loaded(place, spelled):
    loaded = FittedMeans.load(spelled.format(place))
    assert loaded.settings == Means()
    assert loaded.columns == ("a", "b", "c")
    np.testing.assert_array_equal(loaded.arrays["mean"], np.ones((3, 2)))


def test_arrays_of_another_shape_than_the_settings_and_names_give_are_refused(place):
    reseal(place, "mean.json", parameters={"dimensions": 3})
    with pytest.raises(BadInput, match=r"shape \(3, 2\), expected float64 of shape \(3, 3\)"):
        FittedMeans.load(place)


def test_settings_out_of_bounds_are_refused_with_the_manifest_named(place):
    reseal(place, "mean.json", parameters={"dimensions": 0})
    with pytest.raises(BadInput, match=r"mean\.json: dimensions=0: .*Take it again"):
        FittedMeans.load(place)


def test_a_setting_that_is_newer_than_the_directory_has_its_earlier_value(place):
    reseal(place, "mean.json", parameters={})
    with pytest.raises(BadInput, match=r"expected float64 of shape \(3, 1\)"):
        FittedMeans.load(place)


def test_a_setting_that_is_no_more_is_left_out(place):
    reseal(place, "mean.json", parameters={"dimensions": 2, "weighted": True})
    assert FittedMeans.load(place).settings == Means(2)


def test_a_setting_that_is_not_known_is_refused_with_the_manifest_named(place):
    reseal(place, "mean.json", parameters={"width": 2})
    with pytest.raises(BadInput, match=r"mean\.json: .*no key 'width'.*Take it again"):
        FittedMeans.load(place)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "a mean of format 2, this version reads format 3. Take it again"),
        ({"kind": "median"}, "no mean 'median'; this version has: means. Take it again"),
    ],
)
def test_another_format_and_an_unknown_kind_are_refused(place, change, message):
    reseal(place, "mean.json", **change)
    with pytest.raises(BadInput, match=message):
        FittedMeans.load(place)


def test_a_directory_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "note").write_text("mine")
    with pytest.raises(Refused, match="left alone"):
        FittedMeans(Means(), {"mean": np.ones((3, 2))}).save(tmp_path)
