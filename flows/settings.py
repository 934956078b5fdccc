"""Settings of the flows that are verbs, too: form, parameters and options follow from one class.

This module loads neither Prefect nor MLflow, so that the help of a verb is quick.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)

from flows.sources import ClicksSettings, IngestSettings, MatesSettings
from ssi_core.command import evaluate
from ssi_core.command.fields import settings_of
from ssi_core.experiment.names import check_name
from ssi_core.parts import LOCAL
from ssi_core.tasks.settings import Where

if TYPE_CHECKING:
    from ssi_core.guests.monitoring.drift import Limits

Name = Annotated[str, AfterValidator(lambda name: check_name(name, "model or comparison"))]
"""A name in the settings of a flow, by the rule for all names."""


def _table() -> Any:
    return Field(
        default="demo",
        description="Name of a shipped table, or path of a TOML file",
        json_schema_extra={"argument": "TABLE", "path": "table"},
    )


def _path(default: Any, description: str) -> Any:
    return Field(default=default, description=description, json_schema_extra={"path": "absolute"})


def _texts() -> Any:
    return Field(
        default_factory=list,
        description="Files to ingest first: dumps, tables, or a folder; the source is guessed. Can "
        "be repeated",
        json_schema_extra={"path": "absolute"},
    )


def _budget(note: str) -> Any:
    return Field(
        default=None,
        ge=1,
        le=2**62,
        description="Maximum number of triples of any training; empty: that of the table. " + note,
    )


_STRICT = ConfigDict(extra="forbid", frozen=True)
_COLLECTION = "Collection: a directory that 'ssi data ingest' wrote"
_TASK = "Task: a directory that 'ssi data features' wrote"


def form_of(settings: type, *names: str) -> type[BaseModel]:
    """Return a class of pydantic with some of the fields of a verb's settings."""
    declared: dict[str, Any] = {
        one.name: (
            one.kind,
            Field(one.default, description=one.said.get("help"), **one.said["bounds"]),
        )
        for one in settings_of(settings)
        if one.name in names
    }
    return create_model(settings.__name__, __config__=_STRICT, **declared)


class EvaluateSettings(
    form_of(evaluate.EvaluateSettings, "model", "fold", "side", "queries", "seed")  # type: ignore[misc]
):
    """Model that is measured, and the task."""

    task: str = Field(description=_TASK)
    tuples: int = Field(default=100_000, ge=1, description="Tuples of the sampled rank loss")


class TrainSettings(BaseModel):
    """Row of a table that is trained, and the task."""

    model_config = _STRICT

    table: str = _table()
    row: str = Field(description="Label of the row", json_schema_extra={"metavar": "LABEL"})
    task: str = _path(..., _TASK)
    seed: int = Field(default=0, ge=0, description="Random seed of the start and of the sampling")
    threads: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="1 repeats bit by bit; more are faster, and differ a little",
    )
    comparison: Name | None = Field(
        default=None,
        description="Comparison to join; empty: a new one",
        json_schema_extra={"metavar": "ID"},
    )


class PipelineSettings(BaseModel):
    """A table, what it is computed on, and how much of it."""

    model_config = _STRICT

    table: str = _table()
    corpus: str | None = _path(None, _COLLECTION)
    texts: list[str] = _texts()
    task: str | None = _path(None, f"{_TASK}. Only for a table with one task")
    sample: int = Field(
        default=2000,
        ge=20,
        le=1_000_000,
        description="Pages of a made-up encyclopedia to compute on, in place of other input; a "
        "table about two languages takes both of its editions",
        json_schema_extra={"metavar": "PAGES"},
    )
    sample_seed: int = Field(default=0, ge=0, description="Random seed of the encyclopedia")
    rows: list[str] = Field(
        default_factory=list,
        description="Labels of the rows to compute; empty: all rows",
        json_schema_extra={"metavar": "A,B", "separator": ","},
    )
    seeds: int | None = Field(
        default=None,
        ge=1,
        le=1000,
        description="Number of seeds of each row that does not set it; empty: that of the table",
    )
    budget: int | None = _budget("Rows with a budget belong to a comparison of their own")
    threads: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="Cores to use, one a row or a decoder side by side; empty: all",
    )
    row_threads: int = Field(
        default=1,
        ge=1,
        le=1024,
        description="Threads of a row. 1 repeats bit by bit; with more, fewer rows are trained "
        "side by side on the cores of --threads",
    )
    comparison: Name | None = Field(
        default=None,
        description="Comparison to join; empty: that of this table, input and code",
        json_schema_extra={"metavar": "ID"},
    )
    where: Where = Field(
        default=LOCAL,
        description="Where rows and the trials of auto are trained, and dumps are read: on this "
        "machine, or on a Dask cluster",
        json_schema_extra={"metavar": "local|dask:tcp://HOST:PORT"},
    )


class RetrainSettings(BaseModel):
    """Data and model of a retraining, and the conditions of a promotion."""

    model_config = _STRICT

    ingest: IngestSettings = Field(
        default=IngestSettings(),
        description="Where documents come from, if no corpus is named",
        json_schema_extra={"command": False},
    )
    clicks: ClicksSettings | None = Field(
        default=None,
        description="Click logs, for a row that is trained on clicks",
        json_schema_extra={"command": False},
    )
    mates: MatesSettings | None = Field(
        default=None,
        description="Two corpora, for a row across languages",
        json_schema_extra={"command": False},
    )
    corpus: str | None = _path(None, _COLLECTION)
    texts: list[str] = _texts()
    table: str = _table()
    row: str = Field(
        default="U'V + I",
        description="Label of the row that is trained",
        json_schema_extra={"metavar": "LABEL"},
    )
    seed: int = Field(default=0, ge=0, description="Random seed of the start and of the sampling")
    budget: int | None = _budget("Another budget makes another retraining of the same data")
    start: Literal["scratch", "champion"] = Field(
        default="scratch",
        description="Start of the training: random values (scratch), or those of the champion or "
        "of a later model that measured no worse. With champion, and without --budget, 1 % of "
        "changed pairs take 5 % of the row's budget, and so on",
    )
    scratch_days: int = Field(
        default=7,
        ge=0,
        description="Days after which --start champion trains from scratch all the same, as a "
        "check; 0: never",
    )
    frozen: list[str] = Field(
        default_factory=list,
        description="Evaluation set of 'ssi ops freeze', beside those that retrainings draw and "
        "keep under .ssi/frozen. The newest set decides; no set is trained on. Can be repeated",
        json_schema_extra={"path": "absolute"},
    )
    renew_days: int = Field(
        default=91,
        ge=0,
        description="Days after which a retraining draws a new frozen set; 0: never",
    )
    renew: bool = Field(default=False, description="Draw a new frozen set in this retraining")
    name: Name = Field(default="ssi", description="Name of the registered model")
    measure: Literal["map", "rank_loss"] = Field(
        default="map", description="Measure by which the new model must be better"
    )
    alpha: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="Maximum probability of ever promoting a model that is only equal",
    )
    margin: float = Field(
        default=0.05,
        gt=0,
        lt=1,
        description="Share of the champion's mean that the new model may lose on a slice",
    )
    size: float = Field(
        default=0.7,
        ge=0,
        le=1,
        description="Minimum number of documents, and of links, as a share of the last data",
        json_schema_extra={"flag": "--min-size"},
    )
    limits: dict[str, float] = Field(
        default_factory=dict,
        description="Another limit on how much the data may change, such as words=3 or map=0.4. "
        "Names: words, unknown, empty, languages, map, clicks (docs/retraining.md). Can be "
        "repeated",
        json_schema_extra={"flag": "--data-limit", "metavar": "NAME=NUMBER"},
    )
    threads: int = Field(default=1, ge=1, le=1024, description="Of the training; 1 repeats exactly")

    @field_validator("limits")
    @classmethod
    def _known(cls, value: dict[str, float]) -> dict[str, float]:
        from ssi_core.guests.monitoring.drift import Limits

        known = {one.name for one in fields(Limits)}
        if unknown := sorted(value.keys() - known):
            raise ValueError(f"no limit {unknown[0]!r}; there are {', '.join(sorted(known))}")
        Limits(**value)
        return value

    @model_validator(mode="after")
    def _one_source(self) -> RetrainSettings:
        given = [name for name in ("clicks", "mates", "corpus", "texts") if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)}: name one of them")
        return self

    def all_limits(self) -> Limits:
        """Return the limits of the look at the data."""
        from ssi_core.guests.monitoring.drift import Limits

        return Limits(**{"size": self.size, **self.limits})
