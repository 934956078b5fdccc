"""The verb ``features``: a task of a collection. Its options are the fields of `TaskSpec`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ssi_core.command.data import FORCE, OUT, artefact_outcome
from ssi_core.command.verb import Outcome, Verb, progress


def _words(context: click.Context, option: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == "all":
        return value
    if not value.isdigit() or int(value) == 0:
        raise click.BadParameter(f"{value!r} is neither a number nor 'all'", context, option)
    return int(value)


def _views(context: click.Context, option: click.Parameter, value: str | None) -> list[str] | None:
    from ssi_core.views.hashing import parse_view

    if value is None:
        return None
    names = re.split(r",(?!\w+=)", value)
    try:
        for name in names:
            parse_view(name)
    except ValueError as error:
        raise click.BadParameter(str(error), context, option) from None
    return names


def _listed(context: click.Context, option: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else value.split(",")


_CALLBACKS: dict[str, Any] = {
    "words": _words,
    "views": _views,
    "fields": _listed,
    "beside": _listed,
}


class Features(Verb):
    """A verb with an option for each field of `TaskSpec`, which is loaded when it is wanted."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; the fields come after the first two."""
        from ssi_core.command.fields import parameters
        from ssi_core.tasks.spec import TaskSpec

        if "relevant" not in {one.name for one in self.params}:
            self.params[2:2] = parameters(TaskSpec, _CALLBACKS)
        return super().get_params(ctx)


@click.command(
    cls=Features,
    examples=(
        "ssi features corpus --out task",
        "ssi features corpus --out task --words all --split documents",
        "ssi features corpus --out task --views counts,raw,sublinear:100",
        "ssi features corpus --words all --fields text,title,headings,url,anchors",
        "ssi features corpus --out task --queries words:10",
        "ssi features cranfield --out task --words all",
        "ssi features cranfield --out task --pool 10000",
        "ssi features corpus --words all --views raw,cfh:k=5,words=30000,ngrams=1",
        'ssi features kyoto --relevant "translation > link" --views sublinear,dictionary.raw',
        "ssi features clicks --split users --vocabularies two",
        "ssi features corpus --relevant anchor",
        "ssi features corpus --beside titles,words:3,link:3",
    ),
)
@click.argument("corpus", type=click.Path(path_type=Path))
@OUT
@click.option(
    "--translations",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Queries in the documents' language, parquet of id and text.",
)
@click.option(
    "--frozen",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A frozen evaluation set, whose pairs are not trained on; may be repeated.",
)
@click.option(
    "--where",
    default="local",
    show_default=True,
    metavar="local|dask:tcp://HOST:PORT",
    help="Where words, and words that go together, are counted: here, or on a Dask cluster.",
)
@FORCE
def features(
    corpus: Path,
    out: Path | None,
    translations: Path | None,
    frozen: tuple[Path, ...],
    where: str,
    force: bool,
    **fields: Any,
) -> Outcome:
    """Turn a collection into a task: word matrices and splits.

    A task has queries, what is relevant to each of them, and three sides: training, validation and
    test. Without --relevant it is what the collection has: clicks, judgements, else links; of
    translations it must be named. The vocabulary and the weights of words come from the collection.

    A judged query is ranked over all documents. Otherwise the paper draws 10,000 documents of a
    larger corpus, once for all queries; --pool N draws N, --pool 0 takes all.
    """
    from ssi_core.collection import open_collection
    from ssi_core.tasks.spec import only_relevant, read_spec
    from ssi_core.tasks.task import build_task

    chosen = {name: value for name, value in fields.items() if value is not None}
    if "relevant" not in chosen:
        chosen["relevant"] = only_relevant(open_collection(corpus))
    views = chosen.pop("views", None)
    spec = read_spec(chosen, "ssi features")
    with progress("features") as tell:
        artefact = build_task(
            corpus,
            out,
            spec=spec if views is None else spec.with_views(views),
            translations=translations,
            frozen=frozen,
            force=force,
            progress=tell,
            where=where,
        )
    return artefact_outcome(artefact)
