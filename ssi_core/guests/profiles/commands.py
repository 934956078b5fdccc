"""The verb ``profiles``: what tells a user from all others, and how well it predicts clicks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ssi_core.command.fields import PATH, argument, option
from ssi_core.command.models import experiment_run
from ssi_core.command.options import SAVE, SET
from ssi_core.command.results import write_result
from ssi_core.command.values import values_of
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.profiles.events import Events
    from ssi_core.recorder import RowRecorder

_SHOWN = 12
TOKENS: Any = option(
    (),
    "Kinds of tokens to use: some of texts, labels, words. [default: texts and their labels]",
    metavar="A,B",
    separator=",",
)


@click.group(
    cls=Verbs,
    examples=(
        "ssi rank profiles compare clicks --save profiles.json",
        "ssi rank profiles fit clicks --set clusters=30 --out profiles",
        "ssi rank profiles show profiles --user p00012",
    ),
)
def profiles() -> None:
    """Describe users by the tokens that tell most about them, and predict their later clicks.

    COLLECTION has a log of clicks with users and times ('ssi data ingest clicks'). An action is a
    token such as click-Napoleon or page-category:History.
    """


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of ``ssi rank profiles compare``."""

    collection: Path = argument("COLLECTION", type=PATH)
    tokens: tuple[str, ...] = TOKENS
    settings_: dict[str, str] = SET
    later: Literal["all", "next"] = option(
        "all", "Whether to predict all later clicks, or those of the next visit of a user."
    )
    save: Path | None = SAVE


@profiles.verb(CompareSettings, examples=("ssi rank profiles compare clicks --save profiles.json",))
def compare(given: CompareSettings) -> Outcome:
    """Predict later clicks from raw events and from profiles, beside what the paper prints.

    Users who come first train, later ones choose settings, the last ones test. For each document
    that users click on later, a linear model learns who does. With the workflow, each row is a run
    of the MLflow experiment "profiles".
    """
    from ssi_core.guests.profiles.compare import compare as computed
    from ssi_core.guests.profiles.profiler import Profiler
    from ssi_core.guests.profiles.sides import divide
    from ssi_core.strict import read

    profiler = read(Profiler, values_of(given.settings_), "--set")
    with progress("read"):
        events = _read(given.collection, given.tokens)
        divided = divide(events, later=given.later)

    def recorded(
        label: str, parameters: Mapping[str, Any]
    ) -> AbstractContextManager[RowRecorder | None]:
        return experiment_run("profiles", label, given.collection, parameters)

    with progress("profiles") as on_progress:
        result = computed(
            divided, profiler, name=events.name, recorded=recorded, progress=on_progress
        )
    result |= {"counts": events.counts, "later": given.later}
    if given.save is not None:
        write_result(given.save, result)

    def show(console: Console) -> None:
        _show(console, result)

    return Outcome(result, show)


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of ``ssi rank profiles fit``."""

    collection: Path = argument("COLLECTION", type=PATH)
    tokens: tuple[str, ...] = TOKENS
    settings_: dict[str, str] = SET
    out: Path = option(..., "Directory to write the profiles into.", type=PATH)


@profiles.verb(
    FitSettings, examples=("ssi rank profiles fit clicks --tokens labels --out profiles",)
)
def fit(given: FitSettings) -> Outcome:
    """Learn the profiles of all users and clusters of a log."""
    from ssi_core.guests.profiles.model import ProfileModel
    from ssi_core.guests.profiles.profiler import Profiler
    from ssi_core.strict import read

    profiler = read(Profiler, values_of(given.settings_), "--set")
    with progress("read"):
        events = _read(given.collection, given.tokens)
    with progress("fit"):
        model = ProfileModel.of(events, profiler)
    model.save(given.out)
    value: dict[str, Any] = {"path": str(given.out), "tokens": len(model.tokens)}
    value |= {"counts": events.counts, "codes": model.fitted.describe(model.counts)}

    def show(console: Console) -> None:
        codes = value["codes"]
        console.print(
            f"profiles {given.out}: {codes['users']:,} users, {len(model.tokens):,} tokens"
        )
        _show_codes(console, codes)

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class ShowSettings:
    """Settings of ``ssi rank profiles show``."""

    model: Path = argument("MODEL", type=PATH)
    user: str | None = option(None, "Name of a user in the log.")
    cluster: int | None = option(None, "Number of a cluster.", ge=0)


@profiles.verb(
    ShowSettings,
    examples=(
        "ssi rank profiles show profiles --user p00012",
        "ssi rank profiles show profiles --cluster 3",
    ),
)
def show(given: ShowSettings) -> Outcome:
    """List the tokens of a user's or a cluster's profile, and the bits that each contributes."""
    from ssi_core.guests.profiles.model import ProfileModel

    if (given.user is None) == (given.cluster is None):
        raise click.UsageError("name a --user or a --cluster, one of them.")
    loaded = ProfileModel.load(given.model)
    value = (
        loaded.user(given.user)
        if given.user is not None
        else loaded.cluster(int(given.cluster or 0))
    )

    def shown(console: Console) -> None:
        from ssi_core.command.text import plain_table

        if given.user is None:
            console.print(f"cluster {value['cluster']}: {value['share']:.1%} of the users")
            rows = [[one["token"], f"{one['bits']:.4f}"] for one in value["tokens"][:_SHOWN]]
            console.print(plain_table(["token", "bits"], rows))
            return
        console.print(f"user {given.user}: cluster {value['cluster']}", markup=False)
        for part in ("against_all", "against_cluster"):
            rows = [
                [one["token"], str(one["count"]), f"{one['bits']:.4f}"]
                for one in value[part][:_SHOWN]
            ]
            console.print()
            console.print(plain_table([part.replace("_", " "), "count", "bits"], rows))

    return Outcome(value, shown)


def _read(collection: Path, tokens: tuple[str, ...]) -> Events:
    from ssi_core.collection import open_collection
    from ssi_core.guests.profiles.events import read_events

    levels: Any = tuple(dict.fromkeys(tokens)) or None
    return read_events(open_collection(collection), levels)


def _show_codes(console: Console, codes: Mapping[str, Any]) -> None:
    for name, cost in codes["bits"].items():
        console.print(
            f"  user against {name:16} {cost['mean']:.3f} bits, {cost['within']:.0%} of the users "
            "within 0.7"
        )
    parts = codes["tokens"]
    console.print(
        f"  tokens of a user: {parts['raw']:.1f}, kept against all {parts['all']:.1f}, against the "
        f"cluster {parts['cluster']:.1f}"
    )


def _show(console: Console, result: Mapping[str, Any]) -> None:
    """Print a table for each band of documents, and what was chosen."""
    from ssi_core.command.text import plain_table

    users = result["users"]
    console.print(
        f"{result['collection']}: users {users['train']:,} to train, {users['valid']:,} to choose, "
        f"{users['test']:,} to test; {result['tokens']:,} tokens",
        style="bold",
    )
    for band, printed in result["printed"].items():
        rows = []
        for row in result["rows"]:
            one = row["bands"].get(band)
            if one is None:
                continue
            wins, p = (f"{one['wins']:.0%}", f"{one['p_holm']:.3f}") if "wins" in one else ("", "")
            rows.append([row["label"], f"{one['auc']:.4f} ±{one['se']:.4f}", wins, p])
        rows.append(["paper: raw events", f"{printed['base_auc']:.2f}", "", ""])
        rows.append(["paper: with profile", f"{printed['auc']:.2f}", f"{printed['wins']:.0%}", ""])
        count = next((row["bands"][band]["targets"] for row in result["rows"]
                      if band in row["bands"]), 0)  # fmt: skip
        console.print()
        console.print(plain_table([f"{count} documents, {band} clicks", "AUC", "wins", "p"], rows))
    for row in result["rows"]:
        chosen = row["chosen"]
        console.print(f"{row['label']}: C {chosen['C']:g}, {chosen['clusters']} clusters")
    console.print(
        "p: paired randomisation over documents against raw events, corrected by Holm. The paper's "
        "documents are ads of a closed log.",
        style="dim",
    )
