"""Tokenise, choose a vocabulary, weigh by tf-idf: against scikit-learn's TfidfVectorizer."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.dumps import dump
from benchmarks.timing import Contestant, Row, row, speeds
from ssi_core.views.counting import write_counts, write_views
from ssi_core.views.lexicon import batches
from ssi_core.views.weighting import Weighting
from tests.sources import ingest

ARCHIVE = "20newsgroups-bydate/20news-bydate.tar.gz"
_WORDS, _BYTES = 30_000, 10_000_000
_FEW = 3_000_000
"""Bytes of a small collection, where what is paid once counts for more."""


def real_texts(archive: Path) -> list[bytes]:
    """Read messages of an archive, in UTF-8, until they are `_BYTES`."""
    texts: list[bytes] = []
    size = 0
    with tarfile.open(archive) as files:
        for member in files:
            file = files.extractfile(member) if member.isfile() else None
            if file is not None:
                texts.append(file.read().decode("latin-1").encode())
                size += len(texts[-1])
            if size >= _BYTES:
                break
    return texts


def sample_texts(directory: Path) -> list[bytes]:
    """Texts of the generated encyclopedia, in UTF-8."""
    _, path = dump(directory)
    corpus = directory / "corpus"
    ingest("wikipedia", [path], corpus, processes=1)
    frame = pl.read_parquet(corpus / "documents" / "*.parquet", columns=["text"])
    return [text.encode() for text in frame["text"]]


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        archive = Path(os.environ.get("SSI_REAL_DATA", "")) / ARCHIVE
        real = archive.is_file()
        kind, texts = ("news", real_texts(archive)) if real else ("text", sample_texts(directory))
        yield _compared(kind, texts, directory / "views")
        if (few := list(_first(texts, _FEW))) != texts:
            yield _compared(kind, few, directory / "few")


def _first(texts: list[bytes], most: int) -> Iterator[bytes]:
    size = 0
    for text in texts:
        if size < most:
            yield text
        size += len(text)


def _compared(kind: str, texts: list[bytes], place: Path) -> Row:
    rounds = count()

    def ours() -> None:
        out = place / str(next(rounds))
        (out / "work").mkdir(parents=True)
        fitting = np.ones(len(texts), np.bool_)
        _, idf, _ = write_counts(
            out,
            batches(texts),
            language="en",
            fitting=fitting,
            words=_WORDS,
            work=out / "work",
            progress=lambda fraction, message: None,
        )
        write_views(out, idf, [Weighting("raw")], lambda fraction, message: None)

    def theirs() -> None:
        vectorizer = TfidfVectorizer(
            token_pattern=r"[^\W_]+", max_features=_WORDS, dtype=np.float32
        )
        vectorizer.fit_transform(texts)

    megabytes = sum(map(len, texts)) / 1e6
    found = speeds(
        {"ours": Contestant(ours, megabytes), "theirs": Contestant(theirs, megabytes)}, 5
    )
    return row(
        f"tf-idf, {kind} {megabytes:.0f} MB / TfidfVectorizer",
        "MB/s",
        found["ours"],
        found["theirs"],
        floor=5,
        goal=5,
    )
