"""Settings of a task and of the collection that it is made of: a verb, and the form of a flow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, ValidationError

from ssi_core.collection import open_collection
from ssi_core.parts import LOCAL, address_of
from ssi_core.strict import faults
from ssi_core.tasks.kinds import only_relevant
from ssi_core.tasks.spec import TaskSpec
from ssi_core.types import BadInput
from ssi_core.views.hashing import parse_view


def _checked(where: str) -> str:
    address_of(where)
    return where


Where = Annotated[str, AfterValidator(_checked)]
"""``local``, or the address of a cluster."""


class FeaturesSettings(TaskSpec):
    """A task, and the collection that it is made of."""

    command: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "relevant": {
            "shown": "clicks, judgements, else links, as the collection has them; of translations "
            "it must be given"
        },
        "queries": {"flag": "--queries-from", "metavar": "KIND"},
        "words": {"metavar": "N|all"},
        "views": {"separator": ",", "metavar": "VIEW,VIEW"},
        "fields": {"separator": ",", "metavar": "FIELD,FIELD"},
        "stems": {"choices": ["no", "yes"], "shown": "no"},
        "auxiliary": {"separator": ",", "metavar": "KIND,KIND"},
    }
    """What the verb says of the fields of the task."""

    corpus: str = Field(
        description="Collection: a directory that 'ssi data ingest' wrote",
        json_schema_extra={"argument": "CORPUS", "path": "path"},
    )
    translations: str | None = Field(
        default=None,
        description="Queries in the language of the documents, for views such as translated.raw: a "
        "parquet file with the columns id and text",
        json_schema_extra={"path": "file"},
    )
    frozen: list[str] = Field(
        default_factory=list,
        description="Frozen evaluation set of the same kind, whose pairs are not trained on. Can "
        "be repeated",
        json_schema_extra={"path": "path"},
    )
    out: str | None = Field(
        default=None,
        description="Directory to write; empty: a directory of its own in the store",
        json_schema_extra={"path": "directory"},
    )
    force: bool = Field(
        default=False, description="Overwrite the output directory if it holds something else"
    )
    where: Where = Field(
        default=LOCAL,
        description="Where words, and words that go together, are counted: on this machine, or on "
        "a Dask cluster",
        json_schema_extra={"metavar": "local|dask:tcp://HOST:PORT"},
    )

    @property
    def spec(self) -> TaskSpec:
        """The task alone."""
        return TaskSpec(**self.model_dump(include=set(TaskSpec.model_fields)))

    @classmethod
    def of_command(cls, **given: Any) -> Self:
        """Return the settings of a command: the collection says what is relevant in it.

        Raises
        ------
        BadInput
            They mean nothing, or the collection leaves a choice.
        ValueError
            A view is none.
        """
        for view in given.get("views", ()):
            parse_view(view)
        if "relevant" not in given:
            given["relevant"] = only_relevant(open_collection(Path(given["corpus"])))
        try:
            return cls(**given)
        except ValidationError as error:
            raise BadInput(f"ssi data features: {faults(error)}") from None
