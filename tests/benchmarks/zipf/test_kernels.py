"""Made-up texts: words, places and lengths follow the laws that the kernels state."""

import bz2
import hashlib

import numpy as np
import pytest

from benchmarks.zipf import kernels
from benchmarks.zipf.world import pieces_of, title_of, world_of, write_dump


@pytest.fixture(autouse=True)
def _wraps():
    with np.errstate(over="ignore"):
        yield


def spelled(word):
    letters = np.empty(kernels.WORD, np.uint8)
    return letters[: kernels.write_word(word, letters, 0)].tobytes().decode()


def test_no_two_words_are_spelled_alike_and_frequent_ones_are_short():
    spellings = [spelled(word) for word in range(10_200)]
    assert len(set(spellings)) == len(spellings)
    assert [len(spellings[word]) for word in (0, 99, 100, 10_099, 10_100)] == [2, 2, 4, 4, 6]


@pytest.mark.parametrize("documents", [2, 3, 97, 500])
def test_the_place_of_a_document_has_an_inverse(documents):
    world = world_of(documents)
    places = [int(kernels.slot_of(world, d)) for d in range(documents)]
    assert sorted(places) == list(range(documents))
    assert [int(kernels.document_of(world, place)) for place in places] == list(range(documents))


def test_frequencies_of_words_follow_zipfs_law():
    world, state = world_of(10_000), np.zeros(1, np.uint64)
    kernels.seed_of(state, 0, 0, 0)
    drawn = [
        int(kernels.word_between(world, 0, world.words, kernels.uniform(state)))
        for _ in range(4000)
    ]
    counts = np.bincount(drawn, minlength=1000)
    # Ranks 0-9, 10-99 and 100-999 are drawn as often as each other: ln 11, ln(101 / 11), ...
    share = np.diff([0, *np.cumsum(counts)[[9, 99, 999]]]) / len(drawn)
    expected = np.diff(np.log([1, 11, 101, 1001])) / np.log(int(world.words) + 1)
    np.testing.assert_allclose(share, expected, atol=0.03)


def test_a_part_is_the_same_whatever_it_is_made_with():
    world = world_of(90, seed=3)
    whole, parts = next(pieces_of(world, 90)), list(pieces_of(world, 70))
    assert [text for part in parts for text in part.texts] == whole.texts
    assert np.array_equal(np.concatenate([part.targets for part in parts]), whole.targets)


def test_texts_have_the_drawn_numbers_of_words():
    world, state = world_of(50), np.zeros(1, np.uint64)
    lengths = np.empty(50, np.int64)
    assert kernels.draw_lengths(world, 0, lengths, state) == lengths.sum()
    texts = next(pieces_of(world)).texts
    assert [len(text.split()) for text in texts] == lengths.tolist()
    assert all(text.endswith(".") and text == text.strip() for text in texts)


def test_links_are_distinct_sorted_and_never_to_the_document_itself():
    starts, targets = np.empty(401, np.int64), np.empty(kernels.MOST_LINKS * 400, np.int64)
    kernels.draw_links(world_of(400), 0, starts, targets, np.zeros(1, np.uint64))
    for n in range(400):
        of_document = targets[starts[n] : starts[n + 1]]
        assert (np.diff(of_document) > 0).all()
        assert n not in of_document
        assert ((of_document >= 0) & (of_document < 400)).all()


def test_links_lead_mostly_into_the_community_and_some_documents_have_many():
    world = world_of(1500)
    starts, targets = np.empty(1501, np.int64), np.empty(kernels.MOST_LINKS * 1500, np.int64)
    links = kernels.draw_links(world, 0, starts, targets, np.zeros(1, np.uint64))
    targets, sources = targets[:links], np.repeat(np.arange(1500), np.diff(starts))
    community = [int(kernels.slot_of(world, d)) // kernels.MEMBERS for d in range(1500)]
    near = np.mean([community[s] == community[t] for s, t in zip(sources, targets, strict=True)])
    degrees = np.sort(np.bincount(targets, minlength=1500))[::-1]
    assert 0.4 < near < 0.7
    assert degrees[0] > 10 * np.median(degrees)


def collection(place):
    for piece in pieces_of(world_of(90, seed=3), 70):
        yield "\n".join(piece.texts).encode()
        yield np.asarray(piece.starts, "<i8").tobytes()
        yield np.asarray(piece.targets, "<i8").tobytes()


def dump(place):
    write_dump(place / "a.xml.bz2", 20, 5)
    yield bz2.decompress((place / "a.xml.bz2").read_bytes())


def names(place):
    for n in (0, 1, 7, 255, 4096, 70_000):
        yield f"{spelled(n)} {title_of(n)}".encode()


@pytest.mark.parametrize(
    ("made", "digest"),
    [(collection, "03bb37fde88a5411"), (dump, "1b5658dc907a37b9"), (names, "82280b0b3244946c")],
)
def test_a_seed_makes_these(tmp_path, made, digest):
    """Figures of the documents come of them: whoever changes what is drawn computes these again."""
    found = hashlib.sha256()
    for part in made(tmp_path):
        found.update(part)
    assert found.hexdigest()[:16] == digest
