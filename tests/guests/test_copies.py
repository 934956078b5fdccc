"""What guests fit can be pickled and copied deeply, as a model can."""

import copy
import pickle

import numpy as np
import pytest

import ssi_core as ssi
from ssi_core.guests.profiles.model import ProfileModel
from ssi_core.guests.profiles.profiler import Profiler
from tests.guests.codes.made import texts
from tests.guests.profiles.test_profiles import log
from tests.guests.reranking.made import pairs

COPIES = {"pickled": lambda one: pickle.loads(pickle.dumps(one)), "copied": copy.deepcopy}

every = pytest.mark.parametrize("how", COPIES)


@every
@pytest.mark.parametrize("name", ["rankrls", "rankboost", "coordinate_ascent"])
def test_a_reranker(name, how, tmp_path):
    train = pairs([10] * 8)
    ranker = ssi.Reranker(name).fit(train)
    ranker.save(tmp_path)
    for one in (ranker, ssi.Reranker.load(tmp_path)):
        np.testing.assert_array_equal(COPIES[how](one).score(train), ranker.score(train))


@every
@pytest.mark.parametrize("name", ["lsi", "sth", "kernel_sth", "lch", "spectral", "lsh"])
def test_a_hasher(name, how, tmp_path):
    said, _ = texts(60, 0)
    hasher = ssi.Hasher(name, bits=4).fit(said)
    assert hasher.search(said[0], radius=1)
    hasher.save(tmp_path)
    for one in (hasher, ssi.Hasher.load(tmp_path)):
        other = COPIES[how](one)
        np.testing.assert_array_equal(other.encode(said), hasher.encode(said))
        assert other.search(said[0], radius=1) == hasher.search(said[0], radius=1)


@every
def test_profiles(how, tmp_path):
    profiles = ssi.Profiles(clusters=2)
    profiles.model_ = ProfileModel.of(log(), Profiler(clusters=2))
    profiles.save(tmp_path)
    for one in (profiles, ssi.Profiles.load(tmp_path)):
        assert COPIES[how](one).user("u0001") == profiles.user("u0001")
        assert COPIES[how](one).cluster(0) == profiles.cluster(0)


@every
@pytest.mark.usefixtures("own_root")
def test_concepts(how, tmp_path):
    said = ["Car", "Engine", "A car has an engine.", "The engine of a car."]
    rows = {"id": list("0123"), "title": ["Car", "Engine", "Road", "Traffic"], "text": said}
    docs = ssi.read(rows, links=[("2", "0"), ("2", "1"), ("3", "0"), ("3", "1")])
    concepts = ssi.Concepts.of(docs)
    concepts.save(tmp_path / "concepts")
    for one in (concepts, ssi.Concepts.load(tmp_path / "concepts")):
        assert COPIES[how](one).find("An old car stood there.") == ["Car"]
        assert COPIES[how](one).related("Car", "Engine") == 1.0
