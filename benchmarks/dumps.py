"""The dump that is read: an excerpt of a real one where there is one, else a generated one."""

from __future__ import annotations

import os
from pathlib import Path

from ssi_core.sample.encyclopedia import ENGLISH_DUMP, write_sample

_EXCERPT = "wiki-dumps/enwiki-pages-articles1-p10p30302-shortened.xml.bz2"
_DOCUMENTS = 3000


def dump(directory: Path) -> tuple[str, Path]:
    """Name and path of a dump; a generated one is written into ``directory``.

    The excerpt is looked for in the directory that the environment variable SSI_REAL_DATA names.
    """
    real = os.environ.get("SSI_REAL_DATA")
    if real and (Path(real) / _EXCERPT).is_file():
        return "excerpt", Path(real) / _EXCERPT
    write_sample(directory / "sample", documents=_DOCUMENTS)
    return "sample", directory / "sample" / ENGLISH_DUMP
