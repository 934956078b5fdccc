"""20 Newsgroups by date: posts of twenty groups, the later ones for the test.

A post is taken whole, with the headers that this version of the collection has left in it; those
that name the group (Newsgroups, Xref, Followup-To) are not in it. A file whose name is no number
(the archive has one, a second copy of a post) is no post.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ssi_core.corpus.archive import read_matching
from ssi_core.guests.codes.labelled import LabelledText, LabelledTexts, SideName, collect
from ssi_core.types import BadInput, Progress

FILE = re.compile(r"(?:[^/]+/)*20news-bydate-(train|test)/([^/]+)/(\d+)")
"""Name of a post: side, group, number."""
_POSTS = 18_846
_SIDES: dict[str, SideName] = {"train": "train", "test": "test"}


def read_newsgroups(path: str | Path, *, progress: Progress | None = None) -> LabelledTexts:
    """Read posts ``20news-bydate-train/GROUP/NUMBER`` and ``20news-bydate-test/GROUP/NUMBER``.

    Parameters
    ----------
    path : str or Path
        Archive or folder.
    progress : Progress, optional
        Told the share that is read.

    Raises
    ------
    BadInput
        There is no such file, it holds no post, a post is empty, or a side lacks a group.
    """
    path = Path(path)

    def posts() -> Iterator[LabelledText]:
        for count, (name, content) in enumerate(read_matching(path, FILE)):
            if not content.strip():
                raise BadInput(f"{path}: {name[0]}: the post is empty. Restore the published file.")
            if progress is not None and count % 500 == 0:
                progress(min(count / _POSTS, 1.0), name[2])
            text = content.decode("latin-1")
            yield LabelledText(f"{name[2]}/{name[3]}", text, name[2], _SIDES[name[1]])

    listed = list(posts())
    if not listed:
        raise BadInput(
            f"{path}: it has no 20news-bydate-train/GROUP/NUMBER. Give the archive of 20 "
            "Newsgroups by date."
        )
    return collect("newsgroups", listed, str(path))
