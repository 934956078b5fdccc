"""A seed makes the same texts and clicks in every version.

Figures of the documents and of published results come of them: whoever changes what is drawn
computes these again.
"""

import hashlib

import pytest

from ssi_core.sample.names import name_of
from ssi_core.sample.query_log import QueryLogWorld, word_of
from ssi_core.sample.shop import write_shop


def log():
    world = QueryLogWorld(titles=300, queries=400, judged=20, topics=5, gap=0.5, seed=3)
    for frame in (*world.documents(), *world.texts(), world.judgements(), *world.visits(100)):
        yield frame.write_csv().encode()
    for message, frame in world.clicks():
        yield str(message).encode() + frame.write_csv().encode()


def shop(place):
    write_shop(place / "shop", products=1080, visits=100, seed=1)
    for path in sorted((place / "shop").rglob("*.*son*")):
        yield path.read_bytes()


def names():
    for n in (0, 1, 7, 255, 4096, 70_000):
        yield f"{name_of(n)} {word_of(n)}".encode()


@pytest.mark.parametrize(
    ("made", "digest"),
    [
        (log, "88fda7d533420564"),
        (shop, "283a1d7635f10928"),
        (names, "21fc6039dbd8d0b3"),
    ],
)
def test_a_seed_makes_these(tmp_path, made, digest):
    found = hashlib.sha256()
    for part in made(tmp_path) if made is shop else made():
        found.update(part)
    assert found.hexdigest()[:16] == digest
