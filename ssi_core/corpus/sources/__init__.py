"""The registry of sources: a line for each, and nothing else knows their names.

The verbs of ``ssi data ingest``, the forms of the flows and ``ssi.read(..., source=NAME)`` follow
from the class of a source.
"""

from __future__ import annotations

from pathlib import Path

from ssi_core.corpus.source import Source
from ssi_core.corpus.tables.form import refuse_sheet
from ssi_core.registry import Registry
from ssi_core.remedies import typed
from ssi_core.strict import instead, listed
from ssi_core.types import BadInput

_HERE = "ssi_core.corpus.sources"

SOURCES: Registry[type[Source]] = Registry(
    "sources",
    {
        "pairs": f"{_HERE}.pairs:Pairs",
        "beir": f"{_HERE}.judged:Beir",
        "table": f"{_HERE}.table:Table",
        "folder": f"{_HERE}.folder:Folder",
        "trec": f"{_HERE}.judged:Trec",
        "judged": f"{_HERE}.judged:Judged",
    },
)
"""Name of a source -> its class; the core's in the order in which `source_of` asks."""


def source_named(name: str) -> type[Source]:
    """Return the class of a source.

    Raises
    ------
    BadInput
        There is no source of that name.
    """
    if name not in SOURCES:
        raise BadInput(f"no source {instead(name, SOURCES)}")
    return SOURCES[name]


def source_of(path: Path) -> str:
    """Return the name of the first source that a path looks like.

    Those that are added are asked before those of the core, which take any folder and any table.

    Raises
    ------
    BadInput
        It looks like none.
    """
    for name in sorted(SOURCES, key=lambda name: name not in SOURCES.added):
        if source_named(name).looks_like(path):
            return name
    if not path.exists():
        raise BadInput(f"{path}: there is no such file. Check the path.")
    refuse_sheet(path)
    raise BadInput(
        f"{path}: its name does not say which source it is of. Name it .jsonl, .csv, .tsv, "
        f".parquet or .xml, or say what it is: {typed('source', 'NAME')}, with a NAME of "
        f"{listed(list(SOURCES))}."
    )
