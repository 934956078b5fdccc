"""Reuters-21578, Distribution 1.0: stories of its largest topics in the ModApte split.

The split is that of the collection's README: ``LEWISSPLIT`` TRAIN or TEST with ``TOPICS="YES"``.
Of these, the stories of one topic alone that have a title and a body (``TYPE`` is neither BRIEF nor
UNPROC). A class is one of the topics that most of them have.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ssi_core.corpus.archive import read_matching
from ssi_core.guests.codes.labelled import LabelledText, LabelledTexts, SideName, collect
from ssi_core.types import BadInput, Progress

FILE = re.compile(r"(?:[^/]+/)*(reut2-\d{3}\.sgm)")
"""Name of a file of stories."""
TOPICS = 10
_FILES = 22

_STORY = re.compile(r"<REUTERS\b([^>]*)>")
_END = "</REUTERS>"
_ATTRIBUTE = re.compile(r'([A-Z]+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.S)
_TOPIC = re.compile(r"<D>([^<]*)</D>")
_TEXT = re.compile(r"<TEXT\b([^>]*)>(.*?)</TEXT>", re.S)
_PART = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.S)
_SIDES: dict[str, SideName] = {"TRAIN": "train", "TEST": "test"}
_REMEDY = "Restore the published file."


def read_reuters(
    path: str | Path, *, topics: int = TOPICS, progress: Progress | None = None
) -> LabelledTexts:
    """Read stories of one topic, of the largest topics, with the sides of the ModApte split.

    Parameters
    ----------
    path : str or Path
        Archive or folder of ``reut2-000.sgm`` and so on.
    topics : int
        Number of topics to take; of equally large ones the first by name.
    progress : Progress, optional
        Told the share that is read.

    Raises
    ------
    BadInput
        There is no such file, a story is malformed, or there are fewer topics; the message names
        the file and the story.
    """
    path = Path(path)
    stories: list[LabelledText] = []
    files = 0
    for name, content in read_matching(path, FILE):
        stories.extend(_stories(content.decode("latin-1"), f"{path}: {name[1]}"))
        files += 1
        if progress is not None:
            progress(min(files / _FILES, 1.0), name[1])
    if not files:
        raise BadInput(f"{path}: it has no reut2-000.sgm. Give the archive of Reuters-21578.")
    sizes = Counter(story.label for story in stories)
    if len(sizes) < topics:
        raise BadInput(f"{path}: its stories have {len(sizes)} topics. Ask for no more of them.")
    largest = set(sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:topics])
    return collect("reuters", (one for one in stories if one.label in largest), str(path))


def _stories(text: str, where: str) -> Iterator[LabelledText]:
    """Yield the stories of one file that have one topic, a side, a title and a body."""
    *stories, rest = text.split(_END)
    for number, story in enumerate([*stories, rest], 1):
        heads = list(_STORY.finditer(story))
        if not heads and story is rest:
            continue
        attributes = dict(_ATTRIBUTE.findall(heads[0][1])) if heads else {}
        described = f"{where}: story {attributes.get('NEWID', number)}"
        if len(heads) != 1 or story is rest:
            raise BadInput(f"{described}: it has no <REUTERS> or no {_END}. {_REMEDY}")
        for name in ("NEWID", "TOPICS", "LEWISSPLIT"):
            if name not in attributes:
                raise BadInput(f"{described}: it has no attribute {name}. {_REMEDY}")
        listed, body = _TOPICS.search(story), _TEXT.search(story)
        if listed is None or body is None:
            raise BadInput(f"{described}: it has no <TOPICS> or no <TEXT>. {_REMEDY}")
        side = _SIDES.get(attributes["LEWISSPLIT"])
        named = _TOPIC.findall(listed[1])
        if side is None or attributes["TOPICS"] != "YES" or len(named) != 1 or "TYPE" in body[1]:
            continue
        words = " ".join(part[2] for part in _PART.finditer(body[2]))
        yield LabelledText(attributes["NEWID"], html.unescape(words), named[0], side)
