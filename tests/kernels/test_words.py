from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.kernels.text import words as kernels

LOWER = np.array([ord(chr(b).lower()) if chr(b).isalnum() else 0 for b in range(128)], np.uint64)
LOWER = np.concatenate([LOWER, np.arange(128, 256, dtype=np.uint64)])
BYTES = st.lists(st.sampled_from(b"aAbB09 .\xc3\xa9"), max_size=60).map(bytes)


def scan(texts, slots, starts, pool, state):
    data = np.frombuffer(b"".join(text + b" " for text in texts), np.uint8)
    offsets = np.cumsum([0] + [len(text) + 1 for text in texts])
    ids, ends = np.full(len(data), -1, np.int32), np.zeros(len(texts), np.int64)
    with np.errstate(over="ignore"):
        done = kernels.scan(data, offsets, LOWER, slots, starts, pool, state, ids, ends)
    return done, ids, ends


def tables(slots=64, pool=4096):
    sizes = (np.zeros((slots, 2), np.uint64), np.zeros(slots, np.int64), np.zeros(pool, np.uint8))
    return (*sizes, np.zeros(6, np.int64))


def naive_chunks(text):
    """Runs of ASCII letters, digits and other bytes; lower case if all of it is ASCII."""
    kept = bytes(b if b >= 128 or chr(b).isalnum() else 32 for b in text).split()
    return [chunk.lower() if chunk.isascii() else chunk for chunk in kept]


@given(st.lists(BYTES, min_size=1, max_size=5))
def test_chunks_are_numbered_in_the_order_of_their_coming(texts):
    slots, starts, pool, state = tables(512)
    done, ids, ends = scan(texts, slots, starts, pool, state)
    assert done
    chunks = [naive_chunks(text) for text in texts]
    flat = [chunk for text in chunks for chunk in text]
    order = list(dict.fromkeys(flat))
    assert ids[: len(flat)].tolist() == [order.index(chunk) for chunk in flat]
    assert ends.tolist() == np.cumsum([len(text) for text in chunks]).tolist()
    bounds = starts[: len(order) + 1]
    assert [pool[a:b].tobytes() for a, b in pairwise(bounds)] == order


def test_a_full_table_stops_and_goes_on_where_it_stopped():
    texts = [b"one two three four", b"five one six seven"]
    slots, starts, pool, state = tables(8, pool=9)
    done, *_ = scan(texts, slots, starts, pool, state)
    assert not done
    assert state[kernels.NEEDED] == len("three")
    larger = np.concatenate([pool, np.zeros(50, np.uint8)])
    done, *_ = scan(texts, slots, starts, larger, state)
    assert not done
    assert kernels.is_full(state[kernels.KNOWN], len(slots), len(starts))
    more = np.zeros((32, 2), np.uint64)
    kernels.refill(slots, more)
    done, _, ends = scan(texts, more, np.concatenate([starts, starts * 0]), larger, state)
    assert done
    assert state[kernels.KNOWN] == 7
    assert ends[-1] == 8
    assert larger[: state[kernels.POOLED]].tobytes() == b"onetwothreefourfivesixseven"


def test_long_chunks_of_one_hash_are_told_apart_by_their_bytes():
    slots, starts, pool, state = tables()
    scan([b"abcdefghi"], slots, starts, pool, state)
    # Put the hash of another word on the entry: a collision of 64 bits.
    other, *_ = tables()
    scan(
        [b"jklmnopqr"], other, np.zeros(64, np.int64), np.zeros(64, np.uint8), np.zeros(6, np.int64)
    )
    entry, place = slots[slots[:, 1] > 0][0], np.flatnonzero(other[:, 1])[0]
    slots[:] = 0
    slots[place] = other[place, 0], entry[1]
    state[: kernels.KNOWN] = 0
    _, ids, _ = scan([b"jklmnopqr"], slots, starts, pool, state)
    assert ids[0] == 1


def test_bags_are_counts_in_the_order_of_first_occurrence():
    # Chunk 2 stands for the words 0 and 1, chunk 3 for none.
    ids, ends = np.array([1, 2, 1, 3, 3, 0], np.int32), np.array([4, 4, 6])
    word_of = np.array([0, 1, -1, -2], np.int32)
    more, more_ends = np.array([0, 1], np.int32), np.array([0, 2, 2])
    seen, words, counts = (np.zeros(n, np.int32) for n in (4, 8, 8))
    indptr = np.zeros(4, np.int64)
    n = kernels.bags(ids, ends, word_of, more_ends, more, seen, words, counts, indptr)
    assert indptr.tolist() == [0, 2, 2, 3]
    assert words[:n].tolist() == [1, 0, 0]
    assert counts[:n].tolist() == [3, 1, 1]
    assert not seen.any()
