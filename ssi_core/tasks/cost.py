"""Memory and disk that a task takes to be made, estimated before that starts.

Measured on generated corpora of 20,000 to 200,000 documents, on 2 million documents with 12 million
links, on 4 million distinct words, and on 3 million anchors, which are names::

    100 MB + min(200 MB, 20 * text) + 25 * links + 260 * documents + 115 * distinct words
        + 270 * names   bytes

and 245 bytes more for each distinct word where all of them become columns. Distinct words are
guessed by Heaps' law, ``60 * tokens ** 0.55``. For 2 million documents of 2.4 kB with 25 million
links that is 2.0 GB. On disk a token takes 4 bytes in each view, and as much while it is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ssi_core.remedies import typed
from ssi_core.resources import require

_BASE, _BLOCKS, _OF_TEXT = 100_000_000, 200_000_000, 20
_LINK, _DOCUMENT, _WORD, _COLUMN, _NAME = 25, 260, 115, 245, 270
_TEXT_OF_PARQUET, _TEXT_OF_A_TOKEN, _DISK_OF_A_TOKEN = 3, 6, 4


def require_features(
    parts: Sequence[Path],
    directory: Path,
    *,
    documents: int,
    links: int,
    views: int,
    all_words: bool,
    names: int = 0,
) -> None:
    """State what a task takes; `ssi_core.types.Refused` where that isn't there.

    Parameters
    ----------
    parts : sequence of Path
        Parquet files of the documents.
    views : int
        Matrices that are written.
    all_words : bool
        Every word becomes a column.
    names : int
        Anchors, or titles and redirects, that are queries.
    """
    text = _TEXT_OF_PARQUET * sum(part.stat().st_size for part in parts)
    tokens = text // _TEXT_OF_A_TOKEN
    words = int(min(tokens, 60 * tokens**0.55))
    memory = _BASE + min(_BLOCKS, _OF_TEXT * text) + _LINK * links + _DOCUMENT * documents
    memory += _NAME * names
    memory += (_WORD + (_COLUMN if all_words else 0)) * words
    disk = _DISK_OF_A_TOKEN * tokens * (views + 1)
    fewer = f"Take fewer words ({typed('words', 30_000)})." if all_words else ""
    require("the features", memory=memory, directory=directory, disk=disk, remedy=fewer)
