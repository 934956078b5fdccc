"""Answer a wrong use of the command with what was meant, or with what is to be typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ssi_core.command.spellings import refuse_old
from ssi_core.strict import listed, meant, nearest

_TEXTS = ("TEXT", "WORD", "QUERY", "DOCUMENT")
_BEHIND = " A text that begins with a dash goes behind --, at the end."
_BEYOND = re.compile(r"Got unexpected extra arguments? \((.*)\)")


def answered(
    error: click.UsageError, verb: click.Command, ctx: click.Context, words: Sequence[str]
) -> click.UsageError:
    """Return an error of usage with its remedy.

    Parameters
    ----------
    error : UsageError
        What click says.
    words : sequence of str
        What was typed behind the name of the verb.

    Raises
    ------
    UsageError
        The command has an old spelling; the message has the new one.
    """
    said = error.format_message()
    if isinstance(error, click.NoSuchOption):
        refuse_old(ctx, words)
        flags = [flag for one in verb.params for flag in (*one.opts, *one.secondary_opts)]
        behind = "" if error.option_name.startswith("--") else _BEHIND
        said = f"No such option {error.option_name!r}.{meant(error.option_name, flags) or behind}"
    elif isinstance(error, click.MissingParameter) and (examples := getattr(verb, "examples", ())):
        said = (
            f"{' '.join(said.split()).rstrip('.')}. For example: {_example(error.param, examples)}"
        )
    elif isinstance(error, click.BadOptionUsage):
        [one] = [one for one in verb.params if error.option_name in one.opts]
        said += f" Type: {error.option_name} {one.metavar}"
    elif beyond := _BEYOND.match(said):
        arguments = [one for one in verb.params if isinstance(one, click.Argument)]
        if arguments and arguments[-1].metavar in _TEXTS:
            whole = shlex.quote(f"{ctx.params[arguments[-1].name or '']} {beyond[1]}")
            last = arguments[-1].metavar
            said += f". If it belongs to {last}, put quotes around all of it: {whole}"
        else:
            said += f". '{ctx.command_path} --help' lists the options"
    return click.UsageError(said, ctx)


def _example(param: click.Parameter | None, examples: Sequence[str]) -> str:
    flags = param.opts if isinstance(param, click.Option) else ()
    return next((one for one in examples if {*flags} & {*one.split()}), examples[0])


def refuse_verb(group: click.Group, ctx: click.Context, words: Sequence[str]) -> None:
    """Refuse a verb that a group does not have, with the nearest there is in any group.

    Raises
    ------
    UsageError
        Always.
    """
    refuse_old(ctx, words)
    path = ctx.command_path.partition(" ")[2]
    here = {name: " ".join(filter(None, (path, name))) for name in group.list_commands(ctx)}
    root = ctx.find_root()
    every = {name.split()[-1]: name for name in _below(root.command, root, "") if name != path}
    known = here if nearest(words[0], here) or " " in path else every
    near = nearest(words[0], known)
    said = f" Did you mean 'ssi {known[near]}'?" if near else f" Known: {listed(list(here))}."
    raise click.UsageError(f"No such command {words[0]!r}.{said}", ctx)


def _below(command: click.Command, ctx: click.Context, path: str) -> Iterator[str]:
    if not isinstance(command, click.Group) or path.count(" ") > 1:
        yield path.strip()
        return
    for name in command.list_commands(ctx):
        if (inner := command.get_command(ctx, name)) is not None:
            yield from _below(inner, ctx, f"{path} {name}")


def no_such_path(value: str) -> str:
    """Say that a path does not exist, and which near it does."""
    if "://" in value:
        return f"{value!r} is an address. Download it, and name the file."
    path = Path(value)
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return f"{str(path.parent)!r} does not exist. Check the path."
    near = nearest(path.name, names)
    there = f" Did you mean {str(path.parent / near)!r}?" if near else " Check the path."
    return f"{value!r} does not exist.{there}"
