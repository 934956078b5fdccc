"""Base of all verbs of the ``ssi`` command: options, output, progress, exit codes.

A verb is a plain function that returns an `Outcome`: an object for ``--json`` and a way to show it
to a person. This module imports nothing heavy, so that ``ssi --help`` is immediate.
"""

from __future__ import annotations

import io
import json
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TextIO

import click

from ssi_core.command.failures import (
    DONE,
    FAILED,
    REFUSED,
    USAGE,
    kind_of,
    message_of,
    out_of_memory,
)
from ssi_core.command.fields import NEW_DIRECTORY, as_text, option, parameters, settings_of
from ssi_core.command.process import announce, kept_stdout, refuse_outputs, refuse_small_limits
from ssi_core.command.signals import TERMINATED, code_of, terminable
from ssi_core.face.show import shown
from ssi_core.registry import load
from ssi_core.remedies import reading
from ssi_core.root import root
from ssi_core.threads import threads

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.types import Progress

AROUND: list[Callable[[], AbstractContextManager[None]]] = []
"""Contexts entered around each verb; the workflow adds those of its servers and databases."""


@dataclass
class Settings:
    """The options that every verb has."""

    json: bool = option(False, "Print the result as one JSON object.")
    threads: int | None = option(
        None, "Cores to use. [default: 1 for a training, else all]", metavar="N", ge=1
    )
    root: str | None = option(None, "Directory that holds mlruns/ and .ssi/.", type=NEW_DIRECTORY)
    verbose: bool = option(False, "Log more, and show where an error came from.")


@dataclass(frozen=True)
class Outcome:
    """Result of a verb: a JSON object, and a function that shows it to a person."""

    value: Mapping[str, Any]
    show: Callable[[Console], None]


def settings() -> Settings:
    """Return the settings of the command that runs."""
    return click.get_current_context().ensure_object(Settings)


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    # An option that was not given leaves what the group, one level up, was told.
    if value and option.name is not None:
        setattr(context.ensure_object(Settings), option.name, value)


@cache
def _shared() -> Sequence[click.Parameter]:
    return [*parameters(Settings, expose_value=False, callback=_remember)]


class _Teaching(click.Command):
    """A command whose help ends with examples, and which has the shared options."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params += _shared()

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Return the same names in every context: click keeps those of the first one."""
        return ["-h", "--help"]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, a line each."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {example}\n" for example in self.examples))


class Verb(_Teaching):
    """A command that prints the `Outcome` of its function.

    Parameters
    ----------
    settings : sequence
        Classes of settings whose fields are its arguments and options, or their ``"module:class"``,
        which is loaded when the verb is used. The function is called with one object of each.
    """

    addresses = 1800
    """MiB of addresses that its libraries take when they load, on two cores."""
    ends = True
    """Whether a terminal shows that it is at work: it ends by itself."""

    def __init__(
        self, *args: Any, settings: Sequence[type | str] = (), run: Any = None, **kwargs: Any
    ) -> None:
        self._params: list[click.Parameter] = []
        self._declared = False
        self._homes: Sequence[type | str] = ()
        if run is not None:
            kwargs["callback"] = self._called
        super().__init__(*args, **kwargs)
        self._homes, self.run = settings, run

    @property
    def settings(self) -> list[type]:
        """Its classes of settings."""
        return [load(one) if isinstance(one, str) else one for one in self._homes]

    @property
    def params(self) -> list[click.Parameter]:
        """Arguments and options, those of the settings first."""
        if self._homes and not self._declared:
            self._params[:0] = [one for kind in self.settings for one in parameters(kind)]
            self._declared = True
        return self._params

    @params.setter
    def params(self, params: list[click.Parameter]) -> None:
        self._params = params
        self._declared = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a wrong use is refused with what is to be typed."""
        words = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            from ssi_core.command.mistakes import answered

            raise answered(error, self, ctx, words) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb and print what it found; logs and foreign prints go to standard error."""
        chosen = ctx.ensure_object(Settings)
        announce(chosen)
        refuse_small_limits(self.addresses)
        refuse_outputs(self, ctx)
        with kept_stdout(chosen.json) as stdout:
            with ExitStack() as stack:
                if self.ends:
                    stack.enter_context(progress(self.name or ""))
                stack.enter_context(reading(*_of(self, ctx)))
                for held in AROUND:
                    stack.enter_context(held())
                stack.enter_context(threads(chosen.threads))
                outcome = super().invoke(ctx)
            if isinstance(outcome, Outcome):
                _print(outcome, chosen, stdout)
        return DONE

    def _called(self, **values: Any) -> Any:
        """Call the function with its settings."""
        given = {name: value for name, value in values.items() if value not in (None, (), {})}
        return self.run(*(_built(kind, given) for kind in self.settings))


def _of(verb: click.Command, ctx: click.Context) -> tuple[str, set[str]]:
    """Return the name of a verb, and its options."""
    options = {flag for param in verb.params for flag in (*param.opts, *param.secondary_opts)}
    return ctx.command_path.partition(" ")[2], options


def _built(kind: Any, given: Mapping[str, Any]) -> Any:
    """Return settings with the values that were given; a wrong one is a wrong use."""
    taken = {
        one.name: as_text(given[one.name]) if "path" in one.said else given[one.name]
        for one in settings_of(kind)
        if one.name in given
    }
    known = getattr(kind, "model_fields", {})
    for name in ("threads", "processes"):
        if name in known and (cores := settings().threads) is not None:
            taken.setdefault(name, cores)
    try:
        built: Callable[..., Any] = getattr(kind, "of_command", kind)
        return built(**taken)
    except ValueError as error:
        if hasattr(error, "errors"):
            from ssi_core.strict import faults

            flags = {
                one.name: one.said["flag"] for one in settings_of(kind) if one.said.get("flag")
            }
            options = {name: str(flag).split(" --")[-1].lstrip("-") for name, flag in flags.items()}
            raise click.UsageError(faults(error, options)) from None  # type: ignore[arg-type]
        from ssi_core.types import BadInput

        if isinstance(error, BadInput):
            raise
        raise click.UsageError(str(error)) from None


def help_of(docstring: str | None) -> str:
    r"""Return a docstring as a help; a paragraph behind a line ``\b`` is not wrapped."""
    return cleandoc(docstring or "").replace("\\b\n", "\b\n")


def verb(
    *settings: type | str, examples: Sequence[str] = (), cls: type[Verb] = Verb, name: str = ""
) -> Callable[[Callable[..., Outcome]], Verb]:
    """Make a verb of a function of settings; its docstring is the help.

    Parameters
    ----------
    *settings : class or str
        See `Verb`.
    examples : sequence of str
        Commands that the help shows.
    name : str, optional
        Name of the verb, by default that of the function.
    """

    def made(function: Callable[..., Outcome]) -> Verb:
        known = name or function.__name__.rstrip("_").replace("_", "-")
        return cls(
            known,
            help=help_of(function.__doc__),
            examples=examples,
            settings=settings,
            run=function,
        )

    return made


class Verbs(_Teaching, click.Group):
    """A group of verbs; its options are those of each verb, so both places will do."""

    command_class = Verb

    def __init__(
        self, *args: Any, verbs: Mapping[str, click.Command] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.verbs = {} if verbs is None else verbs
        """Verbs that are loaded when they are asked for: a registry."""

    def verb(self, *settings: type | str, **how: Any) -> Callable[[Callable[..., Outcome]], Verb]:
        """Make a verb of this group; see `verb`."""

        def made(function: Callable[..., Outcome]) -> Verb:
            one = verb(*settings, **how)(function)
            self.add_command(one)
            return one

        return made

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs in the order of the work, as they were added."""
        return [*self.commands, *self.verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb."""
        if cmd_name in self.verbs:
            return self.verbs[cmd_name]
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that is meant; another is refused with the nearest."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            from ssi_core.command.mistakes import refuse_verb

            refuse_verb(self, ctx, args)
        return super().resolve_command(ctx, args)


def _print(outcome: Outcome, chosen: Settings, stdout: TextIO) -> None:
    if chosen.json:
        text = json.dumps(_numbered(outcome.value), ensure_ascii=False, default=str)
        print(shown(text), file=stdout)
    else:
        from ssi_core.face.screen import Screen

        outcome.show(Screen(stdout))


def _numbered(value: Any) -> Any:
    """Return a value with None for NaN and infinity, which are no numbers of JSON."""
    if isinstance(value, Mapping):
        return {name: _numbered(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_numbered(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def progress(what: str) -> Iterator[Progress | None]:
    """Give a progress callback: a bar on a terminal, None (quiet) in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from ssi_core.face.bars import bars

    with bars() as display, display.line(what) as on_progress:
        yield on_progress


def run(group: click.Group, arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; an error is one clear line, never a traceback."""
    # An error of usage can come before the option is read.
    chosen = Settings(json="--json" in (sys.argv[1:] if arguments is None else arguments))
    try:
        with terminable():
            code = group.main(args=arguments, prog_name="ssi", standalone_mode=False, obj=chosen)
        return code if isinstance(code, int) else DONE
    except click.UsageError as error:
        usage = io.StringIO()
        error.show(usage)
        click.echo(shown(usage.getvalue()), err=True, nl=False)
        return _explain("usage", error.format_message(), USAGE, chosen, said=True)
    except click.ClickException as error:
        return _explain("failed", error.format_message(), FAILED, chosen)
    except MemoryError as error:
        # Nothing is loaded for it.
        return _explain("refused", out_of_memory(error), REFUSED, chosen)
    except BaseException as error:
        # click takes the end of any file for Ctrl-D.
        if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
            return _failure(error.__cause__, chosen)
        if code := code_of(error):
            kind = "terminated" if code == TERMINATED else "interrupted"
            click.echo(f"ssi: {kind}", err=True)
            return _explain(kind, kind, code, chosen, said=True)
        if not isinstance(error, Exception):
            raise
        return _failure(error, chosen)


def _failure(error: BaseException, chosen: Settings) -> int:
    from ssi_core.files import refusal

    if chosen.verbose:
        click.echo(shown("".join(traceback.format_exception(error))), err=True, nl=False)
    kind, code = kind_of(error)
    if kind == "failed":
        error = refusal(error, root()) or error
        kind, code = kind_of(error)
    return _explain(kind, message_of(error), code, chosen)


def _explain(kind: str, message: str, code: int, chosen: Settings, *, said: bool = False) -> int:
    if not said:
        click.echo(shown(f"ssi: {kind}: {message}"), err=True)
    if chosen.json:
        value = {"error": {"kind": kind, "message": message}}
        click.echo(shown(json.dumps(value, ensure_ascii=False)))
    return code
