"""Options that several verbs have, as fields of their settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ssi_core.command.fields import DIRECTORY, NEW_DIRECTORY, PATH, TABLE_FILE, argument, option


class Name(click.ParamType[str]):
    """A name of a registered model or a comparison, by the rule for all names.

    Parameters
    ----------
    what : str
        Thing that it names.
    several : bool
        Names with commas between them are taken, too.
    """

    name = "name"

    def __init__(self, what: str, *, several: bool = False) -> None:
        self.what, self.several = what, several

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or refuse it as a wrong use of the option."""
        from ssi_core.experiment.names import check_name

        try:
            for name in value.split(",") if self.several else [value]:
                check_name(name, self.what)
            return value
        except ValueError as error:
            self.fail(str(error), param, ctx)


OUT: Any = option(
    None,
    "Directory to write. [default: a directory of its own under .ssi/store]",
    type=NEW_DIRECTORY,
)
FORCE: Any = option(False, "Overwrite the output directory if it holds something else.")
SAVE: Any = option(None, "JSON file to write the result to.", metavar="FILE", type=PATH)
SEED: Any = option(0, "Random seed.", ge=0)
K: Any = option(10, "Number of results.", ge=1)
TABLE: Any = argument("TABLE", type=TABLE_FILE)
TASK: Any = option(..., "Task: a directory that 'ssi data features' wrote.", type=PATH)
ROWS: Any = option(
    (), "Labels of the rows to compute. [default: all rows]", metavar="A,B", separator=","
)
SET: Any = option({}, "Hyper-parameter. Can be repeated.", flag="--set", metavar="NAME=VALUE")
MAX_QUERIES: Any = option(
    None,
    "Maximum number of queries of a part of the split, which are drawn. [default: all]",
    flag="--max-queries",
    ge=1,
)
INDEX: Any = option(
    None,
    "Index of the documents. [default: that of the model; a run gets one when it is "
    "first searched]",
    type=DIRECTORY,
)
FOLD: Any = option(
    None,
    "Fold of a task with folds: the one that a model directory was trained in, or one of a run. "
    "[default: all folds of a run]",
    ge=1,
)
POPULARITY: Any = option(
    True,
    "Count the links to a document, if MODEL is a mixture with in_degree. [default: --popularity]",
)
CONCEPTS: Any = option(
    None,
    "Concepts that 'ssi rank summary concepts' wrote: sentences also match by related pages of a "
    "wiki.",
    metavar="DIR",
    type=PATH,
)


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Place of an artefact: options of the verbs of sources beside the source's own."""

    out: Path | None = OUT
    force: bool = FORCE


@dataclass(frozen=True, kw_only=True)
class ApproximateSettings:
    """Options of verbs that can search approximately."""

    approximate: bool = option(
        False,
        "Search approximately: score only a part of the documents, as large as --recall needs.",
    )
    recall: float = option(
        0.95, "Share of the 10 best documents that an approximate search must find.", ge=0, le=1
    )
