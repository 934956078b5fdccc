"""Tables and rows as frozen dataclasses: what is compared, and what a paper prints for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import Field

from ssi_core.evaluation.claims import Claim
from ssi_core.strict import instead, read, tables
from ssi_core.tasks.spec import TaskSpec
from ssi_core.types import BadInput
from ssi_core.views.hashing import parse_view

if TYPE_CHECKING:
    from ssi_core.models.base import Model

Seeds: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True)
class Published:
    """Numbers that a paper prints for a row: fractions in 0..1, None where it prints nothing.

    Attributes
    ----------
    rank_loss, map, mrr, p_at_1, p_at_10, ndcg_at_1, ndcg_at_3, ndcg_at_10 : float
        Values of the measures.
    map_se, mrr_se, p_at_1_se, p_at_10_se, ndcg_at_1_se, ndcg_at_3_se, ndcg_at_10_se : float
        Their standard errors.
    parameters : str
        Settings that the paper gives for the row.
    note : str
        What a reader must know about the numbers.
    """

    rank_loss: float | None = None
    map: float | None = None
    map_se: float | None = None
    mrr: float | None = None
    mrr_se: float | None = None
    p_at_1: float | None = None
    p_at_1_se: float | None = None
    p_at_10: float | None = None
    p_at_10_se: float | None = None
    ndcg_at_1: float | None = None
    ndcg_at_1_se: float | None = None
    ndcg_at_3: float | None = None
    ndcg_at_3_se: float | None = None
    ndcg_at_10: float | None = None
    ndcg_at_10_se: float | None = None
    parameters: str | None = None
    note: str | None = None

    def measure(self, name: str) -> float | None:
        """Return the printed value of a measure or of its error: ``map``, ``map_se``."""
        value = getattr(self, name, None)
        return value if isinstance(value, float) else None

    @property
    def any_measure(self) -> bool:
        """Tell whether a measure is printed."""
        return any(self.measure(f.name) is not None for f in fields(self))


@dataclass(frozen=True)
class Row:
    """Row of a table: a model with hyper-parameters on a task, and the printed numbers.

    Attributes
    ----------
    label : str
        Name of the row in the comparison and in MLflow.
    model : str
        Name of the model (`ssi_core.models.MODELS`).
    task : str
        Name of one of the table's tasks.
    seeds : int
        Number of seeds; by default that of the table, or what the caller asks for.
    start : str
        Label of the row whose model, of the same seed, gives the first values.
    like : str
        Label of the row that this one repeats on other words. This row has that row's model and
        settings where it gives no others, and stands in its place in claims against rows that read
        these words (`likeness.compared`).
    parameters : mapping
        Hyper-parameters of the model, as written.
    paper : Published
        Numbers that the paper prints.
    note : str
        What a reader must know about the row.
    """

    label: str
    model: str
    task: str
    seeds: Seeds | None = None
    start: str | None = None
    like: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    paper: Published = Published()
    note: str | None = None
    where: str = field(default="", compare=False, repr=False)

    def ranker(self) -> Model:
        """Build the model of the row; `BadInput` names the row and the known keys."""
        return _ranker(self.model, self.parameters, self.where)

    def views(self) -> set[str]:
        """Return the names of the views that the row reads; `BadInput` where one is no name."""
        views = self.ranker().views()
        try:
            return {str(parse_view(view)) for view in views}
        except ValueError as error:
            raise BadInput(f"{self.where}: {error}.") from None


def _ranker(model: str, parameters: Mapping[str, Any], where: str) -> Model:
    # The models compile kernels; a table is also read where nothing is to be trained.
    from ssi_core.models import MODELS

    if model not in MODELS:
        raise BadInput(f"{where}: no model {instead(model, MODELS)}")
    for number, part in enumerate(_parts(parameters, where), 1):
        _ranker(str(part.pop("model", None)), part, f"{where}: part {number}")
    return read(MODELS[model], parameters, where)


def _limited(model: str, said: Mapping[str, Any], budget: int, where: str) -> dict[str, Any]:
    # Hyper-parameters with every budget lowered; a value of a wrong kind is the reader's to refuse.
    from ssi_core.models import MODELS

    limited = dict(said)
    for f in fields(MODELS[model]) if model in MODELS else ():
        value = said.get(f.name, f.default)
        if f.name.endswith("budget") and isinstance(value, int) and value > budget:
            limited[f.name] = budget
    if parts := _parts(said, where):
        limited["parts"] = tuple(
            _limited(str(part.get("model")), part, budget, where) for part in parts
        )
    return limited


def _parts(parameters: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    # The models that a mixture is made of: [[rows.parts]].
    return tables(parameters.get("parts", ()), f"{where}: [[parts]]")


@dataclass(frozen=True)
class PrintedRow:
    """A row that the paper has and this table has not: no model of ours is its like.

    It is shown with the paper's values alone, and makes no claims.

    Attributes
    ----------
    label : str
        Name of the row in the comparison.
    paper : Published
        Numbers that the paper prints.
    note : str
        What a reader must know about the row.
    """

    label: str
    paper: Published
    note: str | None = None


@dataclass(frozen=True)
class Table:
    """A table of a paper, or of ours.

    Attributes
    ----------
    name : str
        Name of the experiment in MLflow.
    title : str
        Heading of the comparison.
    tasks : mapping
        Name of a task -> how it is made.
    rows : tuple of Row
        Rows in printed order; their labels are unique.
    claims : tuple of Claim
        What the source claims, orders and no differences, tested together.
    baseline : str
        Label of the row that every other row is tested against; by default the first.
    seeds : int
        Number of seeds of a row that does not give its own.
    source : str
        Citation of the paper.
    note : str
        What a reader must know about the table.
    measures : tuple of str
        Measures that the comparison shows, tests against the baseline, and draws.
    scatter : tuple of pairs
        Pairs of labels whose average precisions are drawn against each other, the better one first;
        by default the best row and the baseline.
    printed : tuple of PrintedRow
        Rows that only the paper has.
    two_folds : str
        Measure by which weights that need no training, such as those of a mixture, are chosen on
        one half of the test queries for the other; empty: they are chosen in training.
    queries : int
        Number of test queries that are measured at most, drawn once for all rows; by default all
        that have a relevant document.
    """

    name: str
    title: str
    tasks: Mapping[str, TaskSpec]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()
    baseline: str = ""
    seeds: Seeds = 1
    source: str | None = None
    note: str | None = None
    measures: Annotated[tuple[str, ...], Field(min_length=1)] = ("rank_loss", "map", "p_at_10")
    scatter: tuple[tuple[str, str], ...] = ()
    printed: tuple[PrintedRow, ...] = ()
    two_folds: str | None = None
    queries: Annotated[int, Field(ge=1)] | None = None

    def row(self, label: str) -> Row:
        """Return the row of a label; `BadInput` names the rows there are."""
        for row in self.rows:
            if row.label == label:
                return row
        labels = [row.label for row in self.rows]
        raise BadInput(f"table {self.name!r} has no row {instead(label, labels)}")

    def chain(self, row: Row) -> tuple[Row, ...]:
        """Return the rows that a row starts from, in order; empty for most."""
        if row.start is None:
            return ()
        before = self.row(row.start)
        return (*self.chain(before), before)

    def seeds_of(self, row: Row, asked: int | None = None) -> range:
        """Return the number of seeds: the row's own, else the one asked for, else the table's."""
        seeds = row.seeds if row.seeds is not None else asked if asked is not None else self.seeds
        return range(seeds)

    def select(self, labels: Sequence[str]) -> Table:
        """Return the table with some of its rows, those that they start from, and their claims."""
        if not labels:
            raise BadInput(f"table {self.name!r}: no row is selected; name at least one.")
        chosen = [self.row(label) for label in labels]
        wanted = {one.label for row in chosen for one in (*self.chain(row), row)}
        rows = tuple(
            row if row.like in wanted else replace(row, like=None)
            for row in self.rows
            if row.label in wanted
        )
        claims = tuple(c for c in self.claims if {*c.rows} <= wanted)
        baseline = self.baseline if self.baseline in wanted else rows[0].label
        scatter = tuple(pair for pair in self.scatter if {*pair} <= wanted)
        return replace(self, rows=rows, claims=claims, baseline=baseline, scatter=scatter)

    @property
    def relevant(self) -> str:
        """Name the kind of relevance of its tasks, which a collection must have."""
        return next(iter(self.tasks.values())).relevant

    def limited(self, budget: int) -> Table:
        """Return the table with no training, trial or phase of more than so many triples.

        Rows that stay below keep their hyper-parameters, and a table of such rows is returned as it
        is: what it would compute is the same.
        """
        if budget < 1:
            raise ValueError(f"budget={budget}; expected at least 1")
        rows = tuple(
            replace(row, parameters=_limited(row.model, row.parameters, budget, row.where))
            for row in self.rows
        )
        if rows == self.rows:
            return self
        limit = f"No training of more than {budget:,} triples."
        return replace(self, rows=rows, note=f"{self.note}\n{limit}" if self.note else limit)

    def views(self, task: str) -> tuple[str, ...]:
        """Return the sorted names of the views that a task's rows read, and check these rows."""
        rows = (row for row in self.rows if row.task == task)
        return tuple(sorted({view for row in rows for view in row.views()}))

    def to_dict(self) -> dict[str, Any]:
        """Return what TOML would hold, with defaults written out; `parse_table` reads it back."""
        written = {
            **_written(self, "name", "title", "baseline", "seeds", "source", "note", "two_folds"),
            **_written(self, "queries"),
            "tasks": {name: _written_task(spec) for name, spec in self.tasks.items()},
            "rows": [_written_row(row) for row in self.rows],
        }
        if self.claims:
            written["claims"] = [_written_claim(claim) for claim in self.claims]
        if self.measures != Table.measures:
            written["measures"] = list(self.measures)
        if self.scatter:
            written["scatter"] = [list(pair) for pair in self.scatter]
        if self.printed:
            written["printed"] = [
                _written(row) | {"paper": _written(row.paper)} for row in self.printed
            ]
        return written


def _written(value: Any, *names: str) -> dict[str, Any]:
    # Fields of a dataclass as TOML holds them: TOML has no null.
    names = names or tuple(f.name for f in fields(value))
    values = {name: getattr(value, name) for name in names}
    return {name: one for name, one in values.items() if one is not None}


def _written_claim(claim: Claim) -> dict[str, Any]:
    written = _written(claim)
    if claim.margin is None:
        return written
    return {"equal": [written.pop("above"), written.pop("below")], **written}


def _written_task(spec: TaskSpec) -> dict[str, Any]:
    return spec.model_dump(exclude={"views"})


def _written_row(row: Row) -> dict[str, Any]:
    values = _written(row, "label", "model", "task", "seeds", "start", "like", "note")
    values |= {k: list(v) if isinstance(v, tuple) else v for k, v in row.parameters.items()}
    if paper := _written(row.paper):
        values["paper"] = paper
    return values
