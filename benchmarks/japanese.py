"""Japanese words: the tokenizer against fugashi with UniDic, in speed and in mates found by CL-LSI.

The mates are the Kyoto articles: 7 of 10 train, the others look for their translation among all
(Dumais et al. 1997: SVD of concatenated mates, each side then folded in alone; cosine).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from sudachipy import Dictionary

from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from ssi_core.datasets.kyoto import ARTICLES
from ssi_core.text import runs
from ssi_core.text.tokenizer import tokenize
from tests.sources import ingest

_BYTES = 2_000_000
_WORDS, _DIMENSIONS, _BLOCK = 30_000, 200, 1000
Splitter = Callable[[str], list[str]]


def fugashi_words() -> Splitter:
    """Short units of UniDic as they stand."""
    peer("unidic_lite")
    tagger = peer("fugashi").Tagger("-Owakati")

    def words(text: str) -> list[str]:
        lines = unicodedata.normalize("NFKC", text).split("\n")
        units = (unit for line in lines for unit in tagger.parse(line).split())
        return [word for unit in units for word in runs.words(unit)]

    return words


def long_units() -> Splitter:
    """Words of the same analyser in its long units."""
    analyser = Dictionary(dict="core").tokenizer("C")

    def words(text: str) -> list[str]:
        lines = unicodedata.normalize("NFKC", text).split("\n")
        units = (unit.normalized_form() for line in lines for unit in analyser.tokenize(line))
        return [word for unit in units for word in runs.words(unit)]

    return words


def pairs(text: str) -> list[str]:
    """Pairs of ideographs: what there is without a dictionary."""
    return runs.ideographs(unicodedata.normalize("NFKC", text))


def ours(text: str) -> list[str]:
    return tokenize(text, "ja")


def reciprocal_rank(
    split: Splitter, queries: Sequence[str], documents: Sequence[str], train: NDArray[np.bool_]
) -> float:
    """Mean reciprocal rank of the mates of the articles that do not train."""
    sides = []
    for texts, words in ((queries, split), (documents, tokenize)):
        weigh = TfidfVectorizer(
            analyzer=words, max_features=_WORDS, sublinear_tf=True, smooth_idf=False,
            dtype=np.float32,
        )  # fmt: skip
        weigh.fit([text for text, trains in zip(texts, train, strict=True) if trains])
        sides.append(sparse.csr_array(weigh.transform(texts)))
    joined = sparse.hstack([side[train] for side in sides], format="csr")
    _, _, vt = randomized_svd(joined, _DIMENSIONS, n_iter=3, random_state=0)
    width = sides[0].shape[1]
    left = normalize(sides[0][~train] @ vt[:, :width].T)
    right = normalize(sides[1] @ vt[:, width:].T)
    own = np.flatnonzero(~train)
    ranks = []
    for first in range(0, len(left), _BLOCK):
        scores = left[first : first + _BLOCK] @ right.T
        mates = scores[np.arange(len(scores)), own[first : first + _BLOCK]]
        ranks.append(1 + np.count_nonzero(scores > mates[:, None], axis=1))
    return float(np.mean(1 / np.concatenate(ranks)))


def rows() -> Iterator[Row]:
    release = Path(os.environ.get("SSI_REAL_DATA", "")) / "kyoto-ja-en"
    if not (release / ARTICLES).is_file():
        yield Row("Japanese words", "", note="SSI_REAL_DATA names no Kyoto articles")
        return
    with TemporaryDirectory() as name:
        mates = ingest("kyoto", release, Path(name) / "mates").path
        queries, documents = (
            pl.read_parquet(corpus / "documents" / "*.parquet")["text"].to_list()
            for corpus in (mates.queries, mates.documents)
        )
    splitters = {"short units": ours, "long units": long_units(), "pairs of ideographs": pairs}
    try:
        splitters["fugashi"] = fugashi_words()
    except PeerMissing as missing:
        yield Row("Japanese words / fugashi", "", note=str(missing))
    yield from _speeds(queries, splitters)
    train = np.random.default_rng(0).random(len(queries)) < 0.7
    found = {
        name: reciprocal_rank(split, queries, documents, train) for name, split in splitters.items()
    }
    for name, rank in found.items():
        if splitters[name] is not ours:
            first = found["short units"]
            yield Row(f"mates by CL-LSI, short units / {name}", "MRR", first, rank, first / rank)


def _speeds(texts: Sequence[str], splitters: dict[str, Splitter]) -> Iterator[Row]:
    some, size = [], 0
    for text in texts[:: len(texts) // 500]:
        some.append(text)
        size += len(text.encode())
        if size > _BYTES:
            break

    def contestant(split: Splitter, units: float) -> Contestant:
        return Contestant(lambda: [split(text) for text in some], units)

    bytes_of = {name: contestant(split, size / 1e6) for name, split in splitters.items()}
    found = speeds(bytes_of, 5)
    for name, peers in found.items():
        if splitters[name] is not ours:
            yield row(f"Japanese words / {name}", "MB/s", found["short units"], peers)
    tokens = sum(len(ours(text)) for text in some)
    units = sum(len(splitters["long units"](text)) for text in some)
    note = f"{tokens:,} words in {size / 1e6:.1f} MB; long units: {units:,}"
    a_second = [speed * tokens / (size / 1e6) for speed in found["short units"]]
    yield row("Japanese words", "words/s", a_second, a_second, note=note)
