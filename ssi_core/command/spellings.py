"""Old spellings of verbs and options: each is refused with the new one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click

VERBS: Mapping[str, str] = {
    "ingest": "data ingest",
    "features": "data features",
    "index": "data index",
    "store": "data store",
    "sample": "data sample",
    "pipeline": "lab pipeline",
    "reproduce": "lab pipeline",
    "train": "lab train",
    "evaluate": "lab evaluate",
    "estimate": "lab estimate",
    "neighbours": "lab neighbours",
    "export-trec": "lab export-trec",
    "rerank": "rank rerank",
    "codes": "rank codes",
    "summary": "rank summary",
    "profiles": "rank profiles",
    "feeds": "rank feeds",
    "match": "rank match",
    "ui": "ops ui",
    "deploy": "ops deploy",
    "run": "ops run",
    "doctor": "ops doctor",
    "backup": "ops backup",
    "restore": "ops restore",
    "freeze": "ops freeze",
    "promote": "ops promote",
    "rollback": "ops rollback",
    "champions": "ops champions",
}
"""Old name of a verb -> its group and name."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "fit": {"--ask": "--query-type", "--beside": "--auxiliary"},
    "search": {"--lang": "--language"},
    "serve": {"--beside": "--second-model"},
    "retrain": {
        "--warm": "--start champion",
        "--limit": "--data-limit",
        "--size": "--min-size",
    },
    "demo": {"--documents": "--size"},
    "data sample own": {"--documents": "--size"},
    "data sample encyclopedia": {"--documents": "--size"},
    "data ingest sample": {"--documents": "--size"},
    "data ingest sample-mates": {"--documents": "--size"},
    "data ingest sample-clicks": {"--documents": "--size"},
    "data ingest sample-query-log": {
        "--queries": "--size",
        "--judged": "--judged-count",
        "--topics": "--topic-count",
    },
    "data features": {"--queries": "--queries-from", "--beside": "--auxiliary"},
    "data index": {
        "--words": "--with-words",
        "--no-words": "--without-words",
        "--texts": "--with-texts",
        "--no-texts": "--without-texts",
    },
    "lab evaluate": {"--queries": "--max-queries"},
    "lab estimate": {"--clicks": "--log"},
    "lab export-trec": {"--texts": "--with-texts"},
    "ops freeze": {"--queries": "--max-queries"},
    "ops rollback": {"--to": "--to-version"},
    "rank rerank fit": {"--queries": "--max-queries"},
    "rank rerank features": {"--queries": "--max-queries"},
    "rank codes compare": {"--bits": "--lengths"},
    "rank feeds write": {"--entries": "--max-entries"},
    "rank summary of": {"--words": "--length", "--lang": "--language"},
    "rank summary compare": {"--words": "--length", "--rows": "--row"},
}
"""Verb -> old name of an option -> its new name."""
REMOVED: Mapping[str, str] = {
    "tune": "There is no 'ssi tune' any more. Give a setting of a row several values, margin = "
    "[0.3, 0.1], of which validation chooses one, or take a row of the model auto.",
    "search --candidates": "--candidates: there is one kind now. Give --approximate alone.",
    "serve --candidates": "--candidates: there is one kind now. Give --approximate alone.",
}
"""Former verb, or verb and option -> what does its work."""


def renewed(words: Sequence[str]) -> list[str]:
    """Return the words of a command, behind ``ssi``, with each old spelling replaced.

    >>> renewed(["features", "corpus", "--queries", "words:3"])
    ['data', 'features', 'corpus', '--queries-from', 'words:3']
    """
    first, *rest = words
    known = [*VERBS.get(first, first).split(), *rest]
    options: Mapping[str, str] = {}
    for verb, names in OPTIONS.items():
        if known[: len(verb.split())] == verb.split():
            options = names
    new = []
    for word in known:
        name, equals, value = word.partition("=")
        new += options[name].split() if name in options else [name]
        new[-1] += equals + value
    return new


def refuse_old(ctx: click.Context, words: Sequence[str]) -> None:
    """Refuse a command with an old spelling; do nothing where there is none.

    Raises
    ------
    click.UsageError
        The command has one; the message has the new command.
    """
    old = [*ctx.command_path.split()[1:], *words]
    names = [old[0], *(f"{old[0]} {word.partition('=')[0]}" for word in words)]
    for name in names:
        if name in REMOVED:
            raise click.UsageError(REMOVED[name], ctx)
    new = renewed(old)
    if new != old:
        _refuse(ctx, new)


def _refuse(ctx: click.Context, new: Sequence[str]) -> NoReturn:
    raise click.UsageError(f"This spelling is an old one. Type: ssi {shlex.join(new)}", ctx)
