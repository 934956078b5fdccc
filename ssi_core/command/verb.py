"""Base of all verbs of the ``ssi`` command: options, output, progress, exit codes.

A verb is a plain function that returns an `Outcome`: an object for ``--json`` and a way to show it
to a person. This module imports nothing heavy, so that ``ssi --help`` is immediate.
"""

from __future__ import annotations

import io
import json
import logging
import os
import resource
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ssi_core.command.signals import TERMINATED, code_of, terminable
from ssi_core.command.text import TerminalHandler, shown
from ssi_core.errors import chain_of
from ssi_core.root import root
from ssi_core.threads import threads

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.types import Progress

DONE, FAILED, USAGE, BAD_INPUT, REFUSED = 0, 1, 2, 3, 4

WORKFLOW = (
    "The workflow runs from a checkout of the project, with the packages of pip install "
    "'ssi[workflow]'."
)
"""Sentence that names the extra for verbs outside of the library."""

AROUND: list[Callable[[], AbstractContextManager[None]]] = []
"""Contexts entered around each verb; the workflow adds those of its servers and databases."""


@dataclass
class Settings:
    """The options that every verb has."""

    json: bool = False
    threads: int | None = None
    root: str | None = None
    verbose: bool = False


class Name(click.ParamType[str]):
    """A name of a registered model or a comparison, by the rule for all names."""

    name = "name"

    def __init__(self, what: str) -> None:
        self.what = what

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or refuse it as a wrong use of the option."""
        from ssi_core.experiment.names import check_name

        try:
            return check_name(value, self.what)
        except ValueError as error:
            self.fail(str(error), param, ctx)


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


def _shared() -> list[click.Parameter]:
    def option(*names: str, **kwargs: Any) -> click.Parameter:
        return click.Option(names, expose_value=False, callback=_remember, **kwargs)

    return [
        option("--json", is_flag=True, help="One JSON object on standard output."),
        option(
            "--threads",
            type=click.IntRange(min=1),
            help="Cores to use; by default all for what is exact on any number, 1 for a training.",
        ),
        option("--root", type=click.Path(file_okay=False), help="Where mlruns/ and .ssi/ lie."),
        option("--verbose", is_flag=True, help="Log more; show where an error came from."),
    ]


class _Teaching(click.Command):
    """A command whose help ends with examples, and which has the shared options."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params += _shared()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, a line each."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {example}\n" for example in self.examples))


class Verb(_Teaching):
    """A command that prints the `Outcome` of its function."""

    addresses = 1800
    """MiB of addresses that its libraries take when they load, on two cores."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """Return the same names in every context: click keeps those of the first one."""
        return ["-h", "--help"]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb and print what it found; logs and foreign prints go to standard error."""
        chosen = ctx.ensure_object(Settings)
        announce(chosen)
        refuse_small_limits(self.addresses)
        _refuse_outputs(self, ctx)
        with _kept_stdout(chosen.json) as stdout:
            with ExitStack() as stack:
                for held in AROUND:
                    stack.enter_context(held())
                stack.enter_context(threads(chosen.threads))
                outcome = super().invoke(ctx)
            if isinstance(outcome, Outcome):
                _print(outcome, chosen, stdout)
        return DONE


def refuse_small_limits(addresses: int) -> None:
    """Refuse a limit below what libraries take when they load: some end the process without a word.

    Parameters
    ----------
    addresses : int
        MiB of addresses that they take.

    Raises
    ------
    MemoryError
        The limit is that small.
    """
    least_of = {"RLIMIT_AS": ("ulimit -v", addresses), "RLIMIT_DATA": ("ulimit -d", 300)}
    for name, (option, least) in least_of.items():
        limit, _ = resource.getrlimit(getattr(resource, name))
        if resource.RLIM_INFINITY != limit < least << 20:
            raise MemoryError(
                f"{option} leaves {limit >> 20:,} MiB of memory, and the libraries of ssi take "
                f"{least:,} MiB when they load. Raise that limit, or bound memory by SSI_MEMORY "
                "instead."
            )


OUTPUTS = ("out", "save", "scores", "exports")
"""Names of the parameters that say where a verb writes."""


def _refuse_outputs(command: click.Command, ctx: click.Context) -> None:
    """Refuse to write to what the verb reads, whatever --force says."""
    outputs: list[Path] = []
    sources: list[Path] = []
    for param in command.params:
        value = ctx.params.get(param.name or "")
        if param.name in OUTPUTS:
            outputs += (path for path in _flat(value) if isinstance(path, Path))
        elif isinstance(param, click.Argument) or isinstance(param.type, click.Path):
            sources += (Path(path) for path in _flat(value) if isinstance(path, str | Path))
    if outputs:
        from ssi_core.files import refuse_output

        for out in outputs:
            # What --force replaces is a whole directory, with an input that lies in it.
            replaces = any(param.name == "force" for param in command.params)
            refuse_output(out, sources, is_artefact=replaces)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        yield from (inner for one in value for inner in _flat(one))
    else:
        yield value


REMOVED: Mapping[str, str] = {
    "tune": "Give a setting of a row several values, margin = [0.3, 0.1], of which validation "
    "chooses one, or take a row of the model auto."
}
"""Former verb -> what does its work."""


class Verbs(_Teaching, click.Group):
    """A group of verbs; its options are those of each verb, so both places will do."""

    command_class = Verb

    def __init__(
        self, *args: Any, verbs: Mapping[str, click.Command] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.verbs = {} if verbs is None else verbs
        """Verbs that are loaded when they are asked for: a registry."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs in the order of the work, as they were added."""
        return [*self.commands, *self.verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb; a former one is refused with what does its work."""
        if cmd_name in REMOVED:
            reason = f"There is no 'ssi {cmd_name}' any more. {REMOVED[cmd_name]}"
            raise click.UsageError(reason, ctx)
        return super().get_command(ctx, cmd_name) or self.verbs.get(cmd_name)


def announce(chosen: Settings) -> None:
    """Prepare the logs, and name the root on standard error."""
    if chosen.root is not None:
        os.environ["SSI_ROOT"] = str(Path(chosen.root).resolve())
    click.echo(shown(f"ssi: root {root()}"), err=True)
    usual = logging.INFO if sys.stderr.isatty() else logging.WARNING
    level = logging.DEBUG if chosen.verbose else usual
    handler = TerminalHandler(level)
    for name in ("ssi_core", "flows"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        # Prefect keeps what the terminal need not show.
        logger.setLevel(min(level, logging.INFO))


@contextmanager
def _kept_stdout(alone: bool) -> Iterator[TextIO]:
    """Give standard output to the outcome alone: what anything else prints goes to the log.

    Worker processes inherit the file descriptor, so it is the descriptor that is turned round.
    """
    stdout: TextIO = sys.stdout
    if not alone:
        yield stdout
    elif stdout is not sys.__stdout__:  # a caller in the same process has put its own there
        with redirect_stdout(sys.stderr):
            yield stdout
    else:
        stdout.flush()
        with os.fdopen(os.dup(1), "w", encoding="utf-8") as kept:
            os.dup2(2, 1)
            try:
                yield kept
            finally:
                stdout.flush()
                kept.flush()
                os.dup2(kept.fileno(), 1)


def _print(outcome: Outcome, chosen: Settings, stdout: TextIO) -> None:
    if chosen.json:
        print(shown(json.dumps(outcome.value, ensure_ascii=False, default=str)), file=stdout)
    else:
        from ssi_core.command.screen import Screen

        outcome.show(Screen(stdout))


@contextmanager
def progress(what: str) -> Iterator[Progress | None]:
    """Give a progress callback: a bar on a terminal, None (quiet) in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from ssi_core.command.bars import Bars

    with Bars() as bars:
        yield lambda fraction, message: bars.show(what, fraction, message)


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
        return _explain("refused", _out_of_memory(error), REFUSED, chosen)
    except BaseException as error:
        # click takes the end of any file for Ctrl-D.
        if isinstance(error, click.Abort) and isinstance(error.__cause__, EOFError):
            return _failure(error.__cause__, chosen)
        if code := code_of(error):
            kind = "terminated" if code == TERMINATED else "interrupted"
            return _explain(kind, kind, code, chosen)
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
    return _explain(kind, _message(error), code, chosen)


def kind_of(error: BaseException) -> tuple[str, int]:
    """Return the kind and the exit code of an error, looking through those that wrap another."""
    from ssi_core.types import BadInput, Refused

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, BadInput):
            return "bad input", BAD_INPUT
        if isinstance(seen, Refused | MemoryError):
            return "refused", REFUSED
        seen = seen.__cause__
    if any(map(_no_thread, chain_of(error))):
        return "refused", REFUSED
    return "failed", FAILED


def _message(error: BaseException) -> str:
    from ssi_core.types import BadInput, Refused

    text = " ".join(str(error).split())
    if isinstance(error, BadInput | Refused) and text:
        return text
    for seen in chain_of(error):
        if isinstance(seen, MemoryError) or _no_thread(seen):
            return _out_of_memory(seen)
    if isinstance(error, ModuleNotFoundError):
        text = f"{text}. {WORKFLOW}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _no_thread(error: BaseException) -> bool:
    """Tell whether no thread could be started, for want of addresses for what it needs."""
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"


def _out_of_memory(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if text.startswith("ulimit "):
        return text
    reason = f" ({text.rstrip('.')})" if text else ""
    return (
        f"memory is used up{reason}. Close other programs, raise what bounds it, or take less data."
    )


def _explain(kind: str, message: str, code: int, chosen: Settings, *, said: bool = False) -> int:
    if not said:
        click.echo(shown(f"ssi: {kind}: {message}"), err=True)
    if chosen.json:
        value = {"error": {"kind": kind, "message": message}}
        click.echo(shown(json.dumps(value, ensure_ascii=False)))
    return code
