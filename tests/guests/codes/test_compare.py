"""Curves over lengths, sign tests, and a model that comes back from its directory."""

import numpy as np
import pytest
from scipy.stats import binomtest

from ssi_core.arrays import ArraySpec
from ssi_core.guests.codes.base import Hasher
from ssi_core.guests.codes.compare import compare, sign_test
from ssi_core.guests.codes.hashers import HASHERS, hasher_named
from ssi_core.guests.codes.measures import ball_measures
from ssi_core.guests.codes.model import CodeModel
from ssi_core.guests.codes.sources import read_labelled
from ssi_core.types import BadInput, Refused
from tests.guests.codes import made
from tests.seals import accepted


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return read_labelled(made.lines(tmp_path_factory.mktemp("codes") / "own.jsonl", 120, 40))


def test_a_curve_has_the_measures_of_each_length(texts):
    hashers = [hasher_named(name, {}, "test") for name in ("sth", "sths", "spectral")]
    told = []
    result = compare(
        texts,
        hashers,
        lengths=(8, 3),
        tested_bits=3,
        progress=lambda share, name: told.append(name),
    )
    assert told == ["sth", "sths", "spectral"]
    assert (result["train"], result["test"], result["classes"]) == (120, 40, 3)
    for row in result["rows"]:
        model = CodeModel.of(
            hasher_named(row["hasher"], {"bits": 3}, "test"), texts.train.texts, texts.train.labels
        )
        queries = model.encode(texts.test.texts)
        alone = ball_measures(model.fitted.codes, texts.train.labels, queries, texts.test.labels)
        assert list(row["curve"]) == ["3", "8"]
        for name, values in alone.items():
            assert row["curve"]["3"][name] == pytest.approx(values.mean())
        assert ("tests" in row) == (row["hasher"] != "sth")
        assert "bits" not in row["parameters"]
    test = result["rows"][1]["tests"]["recall"]
    assert test["wins"] + test["losses"] <= 40
    assert test["p"] <= test["p_holm"] <= 1


def test_signs_are_counted_as_scipy_counts_them():
    a = np.array([1, 1, 1, 1, 0, 1, 1, 0.5])
    b = np.array([0, 0, 0, 0, 1, 0, 0, 0.5])
    result = sign_test(a, b)
    assert (result["wins"], result["losses"]) == (6, 1)
    assert result["p"] == pytest.approx(binomtest(6, 7).pvalue)
    assert sign_test(a, a)["p"] == 1.0


@pytest.mark.parametrize("name", HASHERS)
def test_a_model_comes_back_from_its_directory(texts, tmp_path, name):
    hasher = hasher_named(name, {"bits": 6}, "test")
    train = texts.train
    model = CodeModel.of(hasher, train.texts, train.labels, train.ids)
    model.save(tmp_path / "codes")
    model.save(tmp_path / "codes")  # in the place of the first
    loaded = CodeModel.load(tmp_path / "codes")
    assert loaded.fitted.hasher == hasher
    assert loaded.ids == train.ids
    np.testing.assert_array_equal(loaded.fitted.codes, model.fitted.codes)
    np.testing.assert_array_equal(loaded.encode(texts.test.texts), model.encode(texts.test.texts))
    rows = loaded.index().search(loaded.fitted.codes[5], 0)
    assert 5 in rows
    assert not list(tmp_path.rglob("*.pkl"))


@pytest.mark.hostile("resealed directories")
@pytest.mark.parametrize("name", HASHERS)
def test_arrays_that_are_not_as_they_are_declared_are_refused(texts, tmp_path, name):
    train, path = texts.train, tmp_path / "codes"
    model = CodeModel.of(hasher_named(name, {"bits": 6}, "test"), train.texts, train.labels)
    model.save(path)
    n, words = len(train.texts), len(model.words.stems)
    specs = {
        "codes": ArraySpec("uint64", (n, 1)),
        "idf": ArraySpec("float64", (words,), least=0),
        **model.fitted.hasher.array_specs({"texts": n, "words": words}),
    }
    files = {f"arrays/{name}": spec for name, spec in specs.items()}
    assert {file.stem for file in path.rglob("*.npy")} == specs.keys()
    assert not accepted(path, "codes.json", CodeModel.load, files)


def test_a_directory_of_something_else_is_left_alone(texts, tmp_path):
    model = CodeModel.of(hasher_named("lsi", {"bits": 3}, "test"), texts.train.texts)
    (tmp_path / "note").write_text("mine")
    with pytest.raises(Refused, match="it is left alone"):
        model.save(tmp_path)
    with pytest.raises(BadInput, match="holds no codes"):
        CodeModel.load(tmp_path)
    model.save(tmp_path / "codes")
    with (tmp_path / "codes" / "strings.json").open("a") as file:
        file.write(" ")
    with pytest.raises(BadInput, match="Train it again"):
        CodeModel.load(tmp_path / "codes")


def test_a_base_does_nothing_by_itself():
    with pytest.raises(TypeError, match="does not learn"):
        Hasher.learn(HASHERS["sth"](), None, None, None)
