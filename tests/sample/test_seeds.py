"""A seed makes the same texts, links and clicks in every version.

Figures of the documents and of published results come of them: whoever changes what is drawn
computes these again.
"""

import bz2
import hashlib

import numpy as np
import pytest

from ssi_core.sample.names import name_of
from ssi_core.sample.query_log import QueryLogWorld, word_of
from ssi_core.sample.shop import write_shop
from ssi_core.sample.zipf import pieces_of, title_of, world_of, write_dump
from ssi_core.sample.zipf_kernels import WORD, write_word


def collection():
    for piece in pieces_of(world_of(90, seed=3), 70):
        yield "\n".join(piece.texts).encode()
        yield np.asarray(piece.starts, "<i8").tobytes()
        yield np.asarray(piece.targets, "<i8").tobytes()


def dump(place):
    write_dump(place / "a.xml.bz2", 20, 5)
    yield bz2.decompress((place / "a.xml.bz2").read_bytes())


def log():
    world = QueryLogWorld(titles=300, queries=400, judged=20, topics=5, gap=0.5, seed=3)
    for frame in (*world.documents(), *world.texts(), world.judgements(), *world.visits(100)):
        yield frame.write_csv().encode()
    for message, frame in world.clicks():
        yield str(message).encode() + frame.write_csv().encode()


def shop(place):
    write_shop(place / "shop", products=50, visits=100, seed=1)
    for path in sorted((place / "shop").rglob("*.*son*")):
        yield path.read_bytes()


def names():
    letters = np.empty(WORD, np.uint8)
    with np.errstate(over="ignore"):
        for n in (0, 1, 7, 255, 4096, 70_000):
            yield f"{name_of(n)} {word_of(n)} {title_of(n)}".encode()
            yield letters[: write_word(n, letters, 0)].tobytes()


@pytest.mark.parametrize(
    ("made", "digest"),
    [
        (collection, "03bb37fde88a5411"),
        (dump, "1b5658dc907a37b9"),
        (log, "88fda7d533420564"),
        (shop, "7812c6570eef1d12"),
        (names, "e55b3d01825e432c"),
    ],
)
def test_a_seed_makes_these(tmp_path, made, digest):
    found = hashlib.sha256()
    for part in made(tmp_path) if made in (dump, shop) else made():
        found.update(part)
    assert found.hexdigest()[:16] == digest
