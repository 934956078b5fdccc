"""A collection of any size, to see what a machine can do: texts and links drawn by laws.

The texts say nothing; their words follow Zipf's law, their lengths and links those of an
encyclopedia (`kernels`). With 1,800,000 documents it has the size of the corpus of Bai et al.
(2010): 2.5 million words, 25 million links.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.zipf import kernels
from ssi_core.sample.dumps import DumpWriter, whole_file
from ssi_core.sample.pages import SamplePage
from ssi_core.types import Int64, Progress

PAPER = 1_800_000
"""Documents of Bai et al. (2010)."""
_WORDS, _GROWTH = 2_500_000, 0.6
"""Words at that size, and the exponent by which they grow with the documents (Heaps' law)."""
PART = 20_000
"""Documents that are made at a time."""


def world_of(documents: int, seed: int = 0) -> kernels.World:
    """Plan a collection.

    Parameters
    ----------
    documents : int
        Number of documents, at least 2.
    seed : int
        Same seed and number, same collection.
    """
    words = max(1000, round(_WORDS * (documents / PAPER) ** _GROWTH))
    stride = _prime_to(documents, 0.618034)
    scatter = _prime_to(documents, 0.414214)
    whole = (documents, words, seed, stride, pow(stride, -1, documents), scatter)
    return kernels.World(*map(np.int64, whole))


def _prime_to(documents: int, share: float) -> int:
    """Return a number near a share of the documents that is coprime to them."""
    number = max(1, int(documents * share))
    while math.gcd(number, documents) != 1:
        number += 1
    return number


@dataclass(frozen=True)
class Piece:
    """Some documents that follow each other.

    Attributes
    ----------
    first : int
        Number of the first.
    texts : list of str
        Their texts.
    starts : int64 (n + 1,)
        Where the links of each begin.
    targets : int64
        Numbers of the documents that they link to.
    """

    first: int
    texts: list[str]
    starts: Int64
    targets: Int64


def pieces_of(world: kernels.World, size: int = PART) -> Iterator[Piece]:
    """Make the documents of a collection, some at a time."""
    state, scratch = np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    with np.errstate(over="ignore"):
        for first in range(0, int(world.documents), size):
            count = min(size, int(world.documents) - first)
            lengths, ends = np.empty(count, np.int64), np.empty(count, np.int64)
            out = np.empty(
                kernels.WORD * kernels.draw_lengths(world, first, lengths, state),
                np.uint8,
            )
            kernels.write_texts(world, first, lengths, out, ends, state, scratch)
            starts = np.empty(count + 1, np.int64)
            targets = np.empty(kernels.MOST_LINKS * count, np.int64)
            links = kernels.draw_links(world, first, starts, targets, state)
            text = out[: ends[-1]].tobytes().decode("ascii")
            bounds = [0, *ends.tolist()]
            texts = [text[bounds[n] : bounds[n + 1]] for n in range(count)]
            yield Piece(first, texts, starts, targets[:links].copy())


def title_of(document: int) -> str:
    """Return the title of a document.

    >>> title_of(0), title_of(20_001)
    ('Babababa', 'Babibabe')
    """
    letters = np.empty(kernels.WORD, np.uint8)
    # Words of four syllables come after all of one, two and three.
    end = kernels.write_word(100 + 100**2 + 100**3 + document, letters, 0)
    return letters[:end].tobytes().decode("ascii").capitalize()


def write_dump(path: Path, documents: int, seed: int = 0, progress: Progress | None = None) -> int:
    """Write the same documents as a dump of MediaWiki; links stand in the text.

    Parameters
    ----------
    path : Path
        File; ``.xml`` or ``.xml.bz2``.

    Returns
    -------
    int
        Links that were written.
    """
    links = 0
    with whole_file(path) as file:
        dump = DumpWriter(file, "en")
        for piece in pieces_of(world_of(documents, seed), 1000):
            for n, text in enumerate(piece.texts):
                number = piece.first + n
                targets = piece.targets[piece.starts[n] : piece.starts[n + 1]].tolist()
                links += len(targets)
                wikitext = _with_links(text, targets)
                dump.add(SamplePage(number + 1, title_of(number), "en", wikitext))
            if progress is not None:
                progress((piece.first + len(piece.texts)) / documents, f"{number + 1:,} pages")
        dump.close()
    return links


def _with_links(text: str, targets: list[int]) -> str:
    """Put a link after each sentence; the remaining ones come last."""
    marked = [f"[[{title_of(target)}]]" for target in targets]
    sentences = text.split(". ")
    written = [
        f"{sentence} {mark}" for sentence, mark in zip(sentences, marked, strict=False)
    ] + sentences[len(marked) :]
    return ". ".join(written) + " " + ", ".join(marked[len(sentences) :])
