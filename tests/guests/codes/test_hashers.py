"""Hashers: bits beside naive programs, balance, new texts, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import orthogonal_procrustes
from sklearn.svm import SVC

import ssi_core as ssi
from ssi_core.guests.codes import projections
from ssi_core.guests.codes.hashers import HASHERS, hasher_named
from ssi_core.guests.codes.measures import average_precision, ball_measures
from ssi_core.guests.codes.packed import unpack
from ssi_core.guests.codes.projections import (
    BinarisedLsi,
    CentredLsi,
    CoHashing,
    IterativeQuantisation,
    RandomPlanes,
    SpectralHashing,
)
from ssi_core.guests.codes.sth import KernelSelfTaught, SelfTaught, SupervisedSelfTaught, narrow
from ssi_core.guests.codes.words import Words
from ssi_core.types import BadInput
from tests.guests.codes import made
from tests.settings import hold


@pytest.fixture(scope="module")
def task():
    """Rows and labels of 150 training texts and 60 others, of three themes."""
    train, test = made.texts(150, 0), made.texts(60, 1)
    words = Words.of(train[0])
    names = sorted(made.THEMES)
    labels = [np.array([names.index(x) for x in side[1]], np.int32) for side in (train, test)]
    return words.rows(train[0]), labels[0], words.rows(test[0]), labels[1]


def test_rows_are_tf_idf_of_stems():
    words = Words.of(["The cats cat sailing", "a cat and the dogs", "dogs sail at ships"])
    assert words.stems == ("cat", "dog", "sail")
    row = words.rows(["cats, cats and DOGS: ships"]).toarray()[0]
    expected = np.array([2 * np.log(3 / 2), np.log(3 / 2), 0])
    np.testing.assert_allclose(row, expected / np.linalg.norm(expected))
    assert words.rows(["ships"]).nnz == 0
    with pytest.raises(BadInput, match="no word is in 2 of the 2 texts"):
        Words.of(["cat", "dog"])


@pytest.mark.parametrize("name", HASHERS)
def test_codes_of_the_themes_bring_texts_of_one_theme_together(task, name):
    train, labels, test, test_labels = task
    wide = {"sigma": 1.0} if name == "kernel_sth" else {}
    hasher = hasher_named(name, {"bits": 4, **wide}, "test")
    fitted = hasher.fit(train, labels)
    assert fitted.codes.shape == (150, 1)
    measures = ball_measures(fitted.codes, labels, fitted.encode(test), test_labels, radius=0)
    chance = float(np.max(np.bincount(labels)) / len(labels))
    if name != "lsh":  # which knows nothing of the texts
        assert measures["accuracy"].mean() > chance + 0.2
    again = hasher.fit(train, labels)
    np.testing.assert_array_equal(again.codes, fitted.codes)
    np.testing.assert_array_equal(again.encode(test), fitted.encode(test))


@pytest.mark.parametrize("name", [name for name, hasher in HASHERS.items() if hasher.nested])
def test_first_bits_are_the_shorter_code(task, name):
    train, labels, test, _ = task
    long = hasher_named(name, {"bits": 12}, "test").fit(train, labels)
    short = hasher_named(name, {"bits": 5}, "test").fit(train, labels)
    cut = long.shortened(5)
    np.testing.assert_array_equal(cut.codes, short.codes)
    np.testing.assert_array_equal(cut.encode(test), short.encode(test))
    with pytest.raises(ValueError, match="no code of so many first bits"):
        long.shortened(13)


@pytest.mark.parametrize("hasher", [SelfTaught(8, neighbours=70), BinarisedLsi(8), CoHashing(8)])
def test_medians_balance_every_bit(task, hasher):
    bits = unpack(hasher.fit(task[0]).codes, 8)
    assert (bits.mean(axis=0) == 0.5).all()


def test_neighbours_within_the_class_make_codes_of_classes(task):
    train, labels, test, test_labels = task
    fitted = SupervisedSelfTaught(2).fit(train, labels)
    assert fitted.facts["graph_parts"] == 3
    for label in range(3):
        assert len(np.unique(fitted.codes[labels == label])) == 1
    measures = ball_measures(fitted.codes, labels, fitted.encode(test), test_labels, radius=0)
    unsupervised = SelfTaught(2, neighbours=70).fit(train)
    other = ball_measures(
        unsupervised.codes, labels, unsupervised.encode(test), test_labels, radius=0
    )
    assert measures["recall"].mean() > other["recall"].mean()
    with pytest.raises(BadInput, match="Give each training text a label"):
        SupervisedSelfTaught(2).fit(train)
    with pytest.raises(BadInput, match="150 texts have 3 labels"):
        SupervisedSelfTaught(2).fit(train, labels[:3])


def test_new_texts_get_the_bits_that_the_svms_have_learnt(task):
    fitted = SelfTaught(6).fit(task[0])
    learnt = np.mean(unpack(fitted.encode(task[0]), 6) == unpack(fitted.codes, 6))
    assert fitted.facts["learnt"] == pytest.approx(learnt)
    assert learnt > 0.9


def test_lsi_bits_are_those_of_a_dense_factorisation(task):
    dense = task[0].toarray()
    _, _, right = np.linalg.svd(dense, full_matrices=False)
    places = dense @ right[:3].T
    bits = unpack(BinarisedLsi(3).fit(task[0]).codes, 3)
    expected = places > np.median(places, axis=0)
    agreement = np.mean(bits == expected, axis=0)
    assert np.all(np.maximum(agreement, 1 - agreement) > 0.98)  # the sign is free


def components(dense, count):
    """Principal components by the eigenvectors of the covariance, peaks positive."""
    values, vectors = np.linalg.eigh(np.cov(dense.T))
    vectors = vectors[:, np.argsort(-values)[:count]]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(count)]
    return vectors * np.sign(peaks)


def test_centred_bits_are_those_of_the_covariance(task):
    dense = task[0].toarray()
    places = dense @ components(dense, 3)
    bits = unpack(CentredLsi(3).fit(task[0]).codes, 3)
    assert np.mean(bits == (places > np.median(places, axis=0))) > 0.99
    assert np.mean(bits == unpack(BinarisedLsi(3).fit(task[0]).codes, 3)) < 0.9


def test_a_rotation_is_the_nearest_one_to_the_signs_that_it_gives(task):
    """A twin with scipy's Procrustes rotation, from the same start."""
    dense = task[0].toarray()
    places = (dense - dense.mean(axis=0)) @ components(dense, 6)
    rotation = np.linalg.qr(np.random.default_rng(4).standard_normal((6, 6)))[0]
    losses = []
    for _ in range(50):
        signs = np.sign(places @ rotation)
        losses.append(np.square(signs - places @ rotation).mean())
        rotation = orthogonal_procrustes(places, signs)[0]
    fitted = IterativeQuantisation(6, seed=4).fit(task[0])
    assert np.mean(unpack(fitted.codes, 6) == (places @ rotation > 0)) > 0.99
    assert fitted.facts["loss"] == pytest.approx(losses[-1], rel=1e-3)
    assert fitted.facts["loss"] < losses[0] - 1e-3
    assert np.array_equal(unpack(fitted.encode(task[0]), 6), unpack(fitted.codes, 6))


@pytest.mark.parametrize("bits", [3, 70])
def test_average_precision_by_distance_is_that_of_its_definition(task, bits, monkeypatch):
    monkeypatch.setattr("ssi_core.guests.codes.measures._BLOCK", 1000)  # blocks of six queries
    train, labels, test, test_labels = task
    fitted = RandomPlanes(bits).fit(train)
    queries = fitted.encode(test)
    found = average_precision(fitted.codes, labels, queries, test_labels)
    known, asked = unpack(fitted.codes, bits), unpack(queries, bits)
    for row, label, value in zip(asked, test_labels, found, strict=True):
        far = (known != row).sum(axis=1)
        right = far[labels == label]
        each = [np.sum(right <= at) / np.sum(far <= at) for at in right]
        assert value == pytest.approx(np.mean(each), abs=1e-12)


def test_co_hashing_is_the_eigenmap_of_texts_and_words(task):
    X = task[0].toarray()
    n, m = X.shape
    graph = np.block([[np.zeros((n, n)), X], [X.T, np.zeros((m, m))]])
    degree = graph.sum(axis=1)
    root = np.sqrt(degree)
    values, vectors = np.linalg.eigh(graph / root[:, None] / root[None, :])
    embedded = (vectors[:, np.argsort(-values)[1:4]] / root[:, None])[:n]
    hasher = CoHashing(3)
    arrays = hasher.fit(task[0]).arrays
    places = hasher.project(arrays, task[0])
    cosines = np.abs(np.sum(places * embedded, axis=0))
    cosines /= np.linalg.norm(places, axis=0) * np.linalg.norm(embedded, axis=0)
    np.testing.assert_allclose(cosines, 1, atol=1e-8)


def test_random_planes_agree_as_often_as_the_angle_says():
    rows = sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    planes = (RandomPlanes(1024, seed=seed).fit(rows).codes for seed in range(8))
    bits = np.hstack([unpack(codes, 1024) for codes in planes])
    same = [np.mean(bits[0] == bits[i]) for i in (1, 2)]
    np.testing.assert_allclose(same, [1 - 1 / 4, 1 - 1 / 2], atol=0.015)


def test_spectral_hashing_cuts_a_box_along_its_longest_side():
    random = np.random.default_rng(0)
    box = sparse.csr_array(random.random((2000, 2)) * [4.0, 1.5])
    fitted = SpectralHashing(4).fit(box)
    # Waves 1 / 4, 2 / 4, 1 / 1.5, 3 / 4: the longer side has three of the four.
    np.testing.assert_array_equal(np.bincount(fitted.arrays["component"]), [3, 1])
    side = box.toarray()[:, 0] - 2.0
    first = unpack(fitted.codes, 4)[:, 0]
    agreement = np.mean(first == (side > 0))
    assert max(agreement, 1 - agreement) > 0.95


def moons(n, seed):
    """Two half circles that reach into each other, and the number of each point's moon."""
    random = np.random.default_rng(seed)
    moon, angle = random.integers(0, 2, n), random.random(n) * np.pi
    x = np.where(moon == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(moon == 0, np.sin(angle), 0.5 - np.sin(angle))
    return sparse.csr_array(np.column_stack([x, y]) + random.normal(0, 0.05, (n, 2))), moon


def test_kernel_hashing_tells_the_moons_apart_and_planes_do_not():
    train, moon = moons(600, 0)
    test, other = moons(400, 1)
    kinds = {
        KernelSelfTaught: {"similarity": "heat", "width": 0.1, "neighbours": 25},
        SelfTaught: {"similarity": "heat", "width": 0.1, "neighbours": 25},
        SpectralHashing: {},
    }
    best = {}
    for kind, settings in kinds.items():
        fitted = kind(bits=4, **settings).fit(train)
        agreement = np.mean(unpack(fitted.encode(test), 4) == (other == 1)[:, None], axis=0)
        best[kind] = np.max(np.maximum(agreement, 1 - agreement))
    assert best[KernelSelfTaught] > 0.97
    assert best[SelfTaught] < 0.95
    assert best[SpectralHashing] < 0.95
    codes = KernelSelfTaught(bits=16, **kinds[KernelSelfTaught]).fit(train)
    measures = ball_measures(
        codes.codes, moon.astype(np.int32), codes.encode(test), other.astype(np.int32)
    )
    inside = measures["empty"] == 0
    assert measures["precision"][inside].mean() > 0.95


def test_kernel_decisions_are_those_of_the_machine():
    train, moon = moons(80, 2)
    test, _ = moons(50, 3)
    hasher = KernelSelfTaught(bits=1, sigma=0.3)
    arrays = hasher.classifiers(train, (moon == 1)[:, None])
    machine = SVC(C=1.0, gamma=1 / (2 * 0.3**2)).fit(narrow(train), moon == 1)
    expected = machine.decision_function(narrow(test))
    np.testing.assert_allclose(hasher.decide(arrays, test)[:, 0], expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("sht", {}, "no hasher 'sht'. Did you mean 'sth'"),
        ("sth", {"bits": 0}, "bits=0"),
        ("sth", {"neighbors": 3}, "no key 'neighbors'. Did you mean 'neighbours'"),
    ],
)
def test_a_wrong_setting_is_named(name, parameters, message):
    with pytest.raises(BadInput, match=message):
        hasher_named(name, parameters, "test")


@pytest.mark.parametrize("kind", [SelfTaught, BinarisedLsi, CoHashing])
def test_more_bits_than_texts_are_refused(task, kind):
    with pytest.raises(BadInput, match="fewer bits"):
        kind(bits=150).fit(task[0])


def test_texts_that_are_all_alike_are_refused():
    with pytest.raises(BadInput, match="all texts are alike"):
        SpectralHashing(4).fit(sparse.csr_array(np.ones((8, 3))))
    assert replace(SpectralHashing(4), bits=5).bits == 5


@pytest.mark.parametrize("kind", [BinarisedLsi, CentredLsi, CoHashing])
def test_a_large_matrix_has_the_projection_of_one_that_is_spread_out(kind, monkeypatch):
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(rng.poisson(0.6, (60, 40)).astype(np.float64) + np.eye(60, 40))
    whole = kind(bits=4).projection(rows, np.random.default_rng(1))
    monkeypatch.setattr(projections, "_DENSE", 0)
    again = kind(bits=4).projection(rows, np.random.default_rng(1))
    np.testing.assert_allclose(again, whole, atol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda hasher: hasher.fit("cats purr"), "a text alone, expected a list"),
        (lambda hasher: hasher.encode("cats purr"), "a text alone, expected a list"),
        (lambda hasher: hasher.encode(["cats", None]), "text 1: None is no text"),
    ],
)
def test_texts_are_a_list_of_texts(call, message):
    hasher = ssi.Hasher("lsi", bits=2).fit(made.texts(30, 0)[0])
    with pytest.raises(TypeError, match=message):
        call(hasher)


def test_a_search_of_no_known_word_finds_none_and_a_radius_is_a_number_of_bits():
    hasher = ssi.Hasher("lsi", bits=2).fit(made.texts(30, 0)[0])
    assert hasher.search("a kitten", radius=2)
    assert hasher.search("xyzzy", radius=2) == hasher.search("", radius=2) == []
    with pytest.raises(ValueError, match="radius=-1: expected at least 0"):
        hasher.search("a kitten", radius=-1)


def test_settings_are_those_of_the_file():
    hold(__file__, HASHERS)
