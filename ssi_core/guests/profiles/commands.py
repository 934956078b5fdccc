"""The verb ``profiles``: what tells a user from all others, and how well it predicts clicks."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.fields import pairs_of, values_of
from ssi_core.command.models import experiment_run
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verb, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.profiles.events import Events
    from ssi_core.recorder import RowRecorder

_PATH = click.Path(path_type=Path)
_SHOWN = 12
_TOKENS = click.option(
    "--tokens", metavar="A,B", help="Some of texts, labels, words. Else texts and their labels."
)
_SET = click.option(
    "--set",
    "settings_",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs_of,
    help="A hyper-parameter of the profiles.",
)


@click.group(
    cls=Verbs,
    examples=(
        "ssi profiles compare clicks --save profiles.json",
        "ssi profiles fit clicks --set clusters=30 --out profiles",
        "ssi profiles show profiles --user p00012",
    ),
)
def profiles() -> None:
    """Describe users by the tokens that tell most about them, and predict their later clicks.

    COLLECTION has a log of clicks with users and times ('ssi ingest clicks'). An action is a token
    such as click-Napoleon or page-category:History.
    """


@profiles.command(cls=Verb, examples=("ssi profiles compare clicks --save profiles.json",))
@click.argument("collection", type=_PATH)
@_TOKENS
@_SET
@click.option(
    "--later",
    type=click.Choice(("all", "next")),
    default="all",
    show_default=True,
    help="Predict all later clicks, or those of a user's next visit.",
)
@click.option("--save", type=_PATH, metavar="FILE", help="Write the result as JSON.")
def compare(
    collection: Path, tokens: str | None, settings_: dict[str, str], later: Any, save: Path | None
) -> Outcome:
    """Predict later clicks from raw events and from profiles, beside what the paper prints.

    Users who come first train, later ones choose settings, the last ones test. For each document
    that users click on later, a linear model learns who does. With the workflow, each row is a run
    of the MLflow experiment "profiles".
    """
    from ssi_core.guests.profiles.compare import compare as computed
    from ssi_core.guests.profiles.profiler import Profiler
    from ssi_core.guests.profiles.sides import divide
    from ssi_core.strict import read

    profiler = read(Profiler, values_of(settings_), "--set")
    with progress("read"):
        events = _read(collection, tokens)
        divided = divide(events, later=later)

    def recorded(
        label: str, parameters: Mapping[str, Any]
    ) -> AbstractContextManager[RowRecorder | None]:
        return experiment_run("profiles", label, collection, parameters)

    with progress("profiles") as tell:
        result = computed(divided, profiler, name=events.name, recorded=recorded, progress=tell)
    result |= {"counts": events.counts, "later": later}
    if save is not None:
        write_result(save, result)

    def show(console: Console) -> None:
        _show(console, result)

    return Outcome(result, show)


@profiles.command(cls=Verb, examples=("ssi profiles fit clicks --tokens labels --out profiles",))
@click.argument("collection", type=_PATH)
@_TOKENS
@_SET
@click.option("--out", type=_PATH, required=True, help="Directory of the profiles to write.")
def fit(collection: Path, tokens: str | None, settings_: dict[str, str], out: Path) -> Outcome:
    """Learn the profiles of all users and clusters of a log."""
    from ssi_core.guests.profiles.model import ProfileModel
    from ssi_core.guests.profiles.profiler import Profiler
    from ssi_core.strict import read

    profiler = read(Profiler, values_of(settings_), "--set")
    with progress("read"):
        events = _read(collection, tokens)
    with progress("fit"):
        model = ProfileModel.of(events, profiler)
    model.save(out)
    value: dict[str, Any] = {"path": str(out), "tokens": len(model.tokens)}
    value |= {"counts": events.counts, "codes": model.fitted.describe(model.counts)}

    def show(console: Console) -> None:
        codes = value["codes"]
        console.print(f"profiles {out}: {codes['users']:,} users, {len(model.tokens):,} tokens")
        _show_codes(console, codes)

    return Outcome(value, show)


@profiles.command(
    cls=Verb,
    examples=("ssi profiles show profiles --user p00012", "ssi profiles show profiles --cluster 3"),
)
@click.argument("model", type=_PATH)
@click.option("--user", help="Name of a user in the log.")
@click.option("--cluster", type=click.IntRange(min=0), help="Number of a cluster.")
def show(model: Path, user: str | None, cluster: int | None) -> Outcome:
    """List the tokens of a user's or a cluster's profile, and the bits that each contributes."""
    from ssi_core.guests.profiles.model import ProfileModel

    if (user is None) == (cluster is None):
        raise click.UsageError("name a --user or a --cluster, one of them.")
    loaded = ProfileModel.load(model)
    value = loaded.user(user) if user is not None else loaded.cluster(int(cluster or 0))

    def shown(console: Console) -> None:
        from ssi_core.command.text import plain_table

        if user is None:
            console.print(f"cluster {value['cluster']}: {value['share']:.1%} of the users")
            rows = [[one["token"], f"{one['bits']:.4f}"] for one in value["tokens"][:_SHOWN]]
            console.print(plain_table(["token", "bits"], rows))
            return
        console.print(f"user {user}: cluster {value['cluster']}", markup=False)
        for part in ("against_all", "against_cluster"):
            rows = [
                [one["token"], str(one["count"]), f"{one['bits']:.4f}"]
                for one in value[part][:_SHOWN]
            ]
            console.print()
            console.print(plain_table([part.replace("_", " "), "count", "bits"], rows))

    return Outcome(value, shown)


def _read(collection: Path, tokens: str | None) -> Events:
    from ssi_core.collection import open_collection
    from ssi_core.guests.profiles.events import read_events

    levels: Any = None if tokens is None else tuple(dict.fromkeys(tokens.split(",")))
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
