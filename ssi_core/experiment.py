"""Published tables as data: TOML to frozen, strict dataclasses and back.

A table names its tasks, its rows (a model and its hyper-parameters), the numbers that were printed
and the claims of order that they make. Strict means: an unknown key or a value of the wrong kind
is an error that names the file, the key and what is known.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from ssi_core.evaluation.claims import Claim
from ssi_core.evaluation.measures import MEASURES
from ssi_core.types import BadInput

if TYPE_CHECKING:
    from ssi_core.models.base import Model

T = TypeVar("T")


@dataclass(frozen=True)
class Published:
    """What a paper prints for a row: fractions in 0..1, None where it prints nothing."""

    rank_loss: float | None = None
    map: float | None = None
    map_se: float | None = None
    mrr: float | None = None
    mrr_se: float | None = None
    p_at_1: float | None = None
    p_at_1_se: float | None = None
    p_at_10: float | None = None
    p_at_10_se: float | None = None
    ndcg_at_10: float | None = None
    ndcg_at_10_se: float | None = None
    parameters: str | None = None
    note: str | None = None

    def measure(self, name: str) -> float | None:
        """Return the printed value of a measure or of its error: ``map``, ``map_se``."""
        value = getattr(self, name, None)
        return value if isinstance(value, float) else None


@dataclass(frozen=True)
class TaskSpec:
    """How a task directory is made from a corpus; the views follow from the rows.

    Attributes
    ----------
    words : size of the vocabulary, the most frequent words; "all" of them
    split : links fall on a side by themselves, or with their documents
    split_seed : seed of the keyed hash
    pool : candidates beside a query's own relevant documents, when the corpus has more
    """

    words: int | Literal["all"] = 30_000
    split: Literal["links", "documents"] = "links"
    split_seed: int = 0
    pool: int = 10_000


@dataclass(frozen=True)
class Row:
    """One row: a model with hyper-parameters on a task, and what is printed for it.

    Attributes
    ----------
    label : name in the comparison and in MLflow
    model : name in `ssi_core.models.MODELS`
    task : name in the table's tasks
    seeds : number of seeds; None: the table's, or what the caller asks for
    parameters : hyper-parameters, as written
    paper : the printed numbers
    note : what a reader must know about the row
    """

    label: str
    model: str
    task: str
    seeds: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    paper: Published = Published()
    note: str | None = None
    where: str = field(default="", compare=False, repr=False)

    def ranker(self) -> Model:
        """Build the model; `BadInput` names the row, the key and the known ones."""
        # The models compile kernels; a table is also read where nothing is to be trained.
        from ssi_core.models import MODELS

        if self.model not in MODELS:
            raise BadInput(f"{self.where}: no model {_instead(self.model, MODELS)}")
        return _read(MODELS[self.model], self.parameters, self.where)


@dataclass(frozen=True)
class Table:
    """A table of a paper, or of ours.

    Attributes
    ----------
    name : name of the experiment in MLflow
    tasks : name -> how the task is made
    rows : in printed order, labels are unique
    claims : orders that the source claims, tested together
    baseline : label that every other row is tested against; the first row unless said
    seeds : number of seeds of a row that does not say its own
    source, note : citation, and what a reader must know
    """

    name: str
    title: str
    tasks: Mapping[str, TaskSpec]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()
    baseline: str = ""
    seeds: int = 1
    source: str | None = None
    note: str | None = None

    def row(self, label: str) -> Row:
        """Return the row of a label; `BadInput` names the rows there are."""
        for row in self.rows:
            if row.label == label:
                return row
        labels = [row.label for row in self.rows]
        raise BadInput(f"table {self.name!r} has no row {_instead(label, labels)}")

    def seeds_of(self, row: Row, asked: int | None = None) -> range:
        """Seeds of a row: its own number, else the number asked for, else the table's."""
        own = row.seeds if row.seeds is not None else asked if asked is not None else self.seeds
        return range(own)

    def select(self, labels: Sequence[str]) -> Table:
        """Return the table with some of its rows, and the claims between them."""
        if not labels:
            raise BadInput(f"table {self.name!r}: no row is selected; name at least one.")
        wanted = {self.row(label).label for label in labels}
        rows = tuple(row for row in self.rows if row.label in wanted)
        claims = tuple(c for c in self.claims if {c.above, c.below} <= wanted)
        baseline = self.baseline if self.baseline in wanted else rows[0].label
        return replace(self, rows=rows, claims=claims, baseline=baseline)

    def views(self, task: str) -> tuple[str, ...]:
        """Names of the views that the rows of a task read, sorted; every such row is checked."""
        rankers = [row.ranker() for row in self.rows if row.task == task]
        return tuple(sorted({view for ranker in rankers for view in ranker.views()}))

    def to_dict(self) -> dict[str, Any]:
        """Return what TOML would hold, with defaults written out; `parse_table` reads it back."""
        written = {
            **_written(self, "name", "title", "baseline", "seeds", "source", "note"),
            "tasks": {name: _written(spec) for name, spec in self.tasks.items()},
            "rows": [_written_row(row) for row in self.rows],
        }
        if self.claims:
            written["claims"] = [_written(claim) for claim in self.claims]
        return written


def load_table(name_or_path: str | Path, packaged: Path | None = None) -> Table:
    """Read a table from a file, or by its name from a folder of packaged ones.

    Raises
    ------
    BadInput
        There is no such table, it is not TOML, or something in it is unknown or of a wrong kind.
    """
    path = Path(name_or_path)
    if not path.is_file() and packaged is not None:
        path = packaged / f"{name_or_path}.toml"
    if not path.is_file():
        known = sorted(p.stem for p in packaged.glob("*.toml")) if packaged else []
        raise BadInput(f"no table {_instead(str(name_or_path), known)} A path of a file does too.")
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: not TOML: {error}") from None
    return parse_table(said, str(path))


def parse_table(said: Mapping[str, Any], where: str = "table") -> Table:
    """Check a table as TOML gives it; ``where`` begins every error message."""
    said = dict(said)
    defaults = _mapping(said.pop("defaults", {}), f"{where}: [defaults]")
    rows = _tables(said.pop("rows", []), f"{where}: [[rows]]")
    claims = _tables(said.pop("claims", []), f"{where}: [[claims]]")
    tasks = _mapping(said.pop("tasks", {"default": {}}), f"{where}: [tasks]")
    if not rows:
        raise BadInput(f"{where}: a table needs at least one [[rows]].")
    for model in defaults:
        used = sorted({str(row.get("model")) for row in rows})
        if model not in used:
            raise BadInput(
                f"{where}: [defaults.{model}]: no row has the model {_instead(model, used)}"
            )
    made = tuple(_row(row, n, defaults, tuple(tasks), where) for n, row in enumerate(rows, 1))
    parsed = {
        "tasks": {n: _read(TaskSpec, spec, f"{where}: [tasks.{n}]") for n, spec in tasks.items()},
        "rows": made,
        "claims": tuple(
            _read(Claim, one, f"{where}: claim {n}")
            for n, claim in enumerate(claims, 1)
            for one in _each_measure(claim)
        ),
    }
    said.setdefault("baseline", made[0].label)
    table = _read(Table, {**said, **parsed}, where)
    _check(table, where)
    return table


def _each_measure(claim: Mapping[str, Any]) -> list[dict[str, Any]]:
    # measure = ["map", "p_at_10"] is short for two claims.
    measures = claim.get("measure")
    each = measures if isinstance(measures, list) else [measures]
    return [{**claim, "measure": measure} for measure in each]


_OF_ROW = ("label", "model", "task", "seeds", "note", "paper")


def _row(
    said: Mapping[str, Any],
    number: int,
    defaults: Mapping[str, Any],
    tasks: Sequence[str],
    where: str,
) -> Row:
    where = f"{where}: row {said.get('label', number)!r}"
    kind = str(said.get("model", ""))
    said = {**_mapping(defaults.get(kind, {}), f"{where}: [defaults.{kind}]"), **said}
    own = {key: value for key, value in said.items() if key in _OF_ROW}
    if "task" not in own:
        if len(tasks) > 1:
            raise BadInput(f"{where}: which task? The table has: {', '.join(tasks)}.")
        own["task"] = tasks[0]
    own["paper"] = _read(Published, own.get("paper", {}), f"{where}: paper")
    own["parameters"] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in said.items()
        if key not in _OF_ROW
    }
    return replace(_read(Row, own, where), where=where)


def _check(table: Table, where: str) -> None:
    # What no single value can tell: names that refer to each other.
    labels = [row.label for row in table.rows]
    for row in table.rows:
        if labels.count(row.label) > 1:
            raise BadInput(f"{where}: two rows are labelled {row.label!r}; labels must differ.")
        if "," in row.label or not row.label.strip():
            raise BadInput(f"{row.where}: a label is not empty and has no comma (--rows A,B).")
        if row.task not in table.tasks:
            raise BadInput(f"{row.where}: no task {_instead(row.task, table.tasks)}")
        if row.seeds is not None and row.seeds < 1:
            raise BadInput(f"{row.where}: seeds = {row.seeds}, expected at least 1.")
    if table.seeds < 1:
        raise BadInput(f"{where}: seeds = {table.seeds}, expected at least 1.")
    if table.baseline not in labels:
        raise BadInput(f"{where}: baseline: no row {_instead(table.baseline, labels)}")
    for number, claim in enumerate(table.claims, 1):
        at = f"{where}: claim {number}"
        for label in (claim.above, claim.below):
            if label not in labels:
                raise BadInput(f"{at}: no row {_instead(label, labels)}")
        if claim.measure not in MEASURES:
            raise BadInput(f"{at}: no measure {_instead(claim.measure, MEASURES)}")
        if table.row(claim.above).task != table.row(claim.below).task:
            raise BadInput(f"{at}: its rows are on different tasks, so queries cannot be paired.")


# --- a strict reader of dataclasses ---


def _read(kind: type[T], said: Any, where: str) -> T:
    # Build a dataclass from values: every key known, every value of the declared kind.
    assert is_dataclass(kind)
    said, hints = _mapping(said, where), get_type_hints(kind)
    own: list[Field[Any]] = [f for f in fields(kind) if f.init]
    names = [f.name for f in own if f.name != "where"]
    for key in said:
        if key not in names:
            raise BadInput(f"{where}: no key {_instead(key, names)}")
    for f in own:
        if f.name not in said and f.default is MISSING and f.default_factory is MISSING:
            raise BadInput(f"{where}: {f.name} is missing, expected {_say(hints[f.name])}.")
    values = {key: _value(hints[key], value, f"{where}: {key}") for key, value in said.items()}
    try:
        return cast(T, kind(**values))
    except ValueError as error:  # a dataclass may check its own values
        raise BadInput(f"{where}: {error}") from error


def _value(hint: Any, value: Any, where: str) -> Any:
    # The value as the hint wants it (an int becomes a float, a list a tuple), or an error.
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for option in options:
            try:
                return _value(option, value, where)
            except BadInput:
                continue
    elif origin is Literal:
        if any(value == option and type(value) is type(option) for option in options):
            return value
        if isinstance(value, str):
            raise BadInput(f"{where}: no choice {_instead(value, [str(o) for o in options])}")
    elif origin is tuple:
        if isinstance(value, list | tuple):
            kinds = [options[0]] * len(value) if options[-1] is Ellipsis else options
            if len(kinds) == len(value):
                return tuple(_value(k, v, where) for k, v in zip(kinds, value, strict=True))
    elif hint is float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif hint is Any or isinstance(value, origin or hint):
        return value
    raise BadInput(f"{where}: {value!r} is of the wrong kind, expected {_say(hint)}.")


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _say(hint: Any) -> str:
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_say(option) for option in options if option is not NoneType)
    if origin is Literal:
        return " or ".join(repr(option) for option in options)
    if origin is tuple:
        return f"a list, each of it {_say(options[0])}"
    return _KINDS.get(hint, getattr(hint, "__name__", str(hint)))


def _instead(name: str, known: Iterable[str]) -> str:
    # "'tfdif'. Did you mean 'tfidf'? Known: bm25, tfidf."
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{name!r}.{hint} Known: {', '.join(known) or 'none'}."


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{where}: {value!r} is of the wrong kind, expected keys with values.")
    return dict(value)


def _tables(value: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise BadInput(f"{where}: {value!r} is of the wrong kind, expected a list of tables.")
    return [_mapping(one, where) for one in value]


def _written(value: Any, *names: str) -> dict[str, Any]:
    # Fields of a dataclass as TOML holds them: TOML has no null.
    names = names or tuple(f.name for f in fields(value))
    said = {name: getattr(value, name) for name in names}
    return {name: one for name, one in said.items() if one is not None}


def _written_row(row: Row) -> dict[str, Any]:
    said = _written(row, "label", "model", "task", "seeds", "note")
    said |= {k: list(v) if isinstance(v, tuple) else v for k, v in row.parameters.items()}
    if paper := _written(row.paper):
        said["paper"] = paper
    return said
