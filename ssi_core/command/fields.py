"""Arguments and options of a verb: they follow from the fields of a class of settings.

The class is a frozen dataclass, whose fields are made by `option` and `argument`, or a class of
pydantic. Such a class says in ``json_schema_extra`` what is of the command alone: ``argument``,
the name of an argument; ``flag``, another name of the option; ``metavar``; ``separator`` of several
values in one text; ``shown``, what the help says for the default; ``choices`` of a text; ``path``:
path, file, directory, absolute or table; ``command``, False for a field that is no option. A class
variable ``command`` says it of inherited fields.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from ssi_core.command.measures import Words
from ssi_core.command.values import NumberOrWord, Real, RealRange, Whole, WholeRange, pairs_of


class _Path(click.Path):
    """A path that may begin with the home directory: no shell reads ``--out=~/model`` so."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        return super().convert(os.path.expanduser(value), param, ctx)  # noqa: PTH111


class _Existing(_Path):
    """A path that must exist; where it does not, the nearest that does is named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            if Path(value).exists():
                raise
        from ssi_core.command.mistakes import no_such_path

        self.fail(no_such_path(str(value)), param, ctx)


PATH = _Path(path_type=Path)
EXISTING = _Existing(exists=True, path_type=Path)
FILE = _Existing(exists=True, path_type=Path, dir_okay=False)
NEW_FILE = _Path(path_type=Path, dir_okay=False)
DIRECTORY = _Existing(exists=True, path_type=Path, file_okay=False)
NEW_DIRECTORY = _Path(path_type=Path, file_okay=False)
ABSOLUTE = _Path(path_type=Path, resolve_path=True)
"""Path that goes to another process, or is written down: the working directory may be another."""


class _TableFile(click.ParamType[str]):
    """Name of a table as it is, or the path of its file as an absolute one."""

    name = "table"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name or the path."""
        return str(Path(value).resolve()) if Path(value).is_file() else value


TABLE_FILE = _TableFile()
_PATHS: Mapping[str, click.ParamType[Any]] = {
    "path": _Path(),
    "file": _Existing(exists=True, dir_okay=False),
    "directory": NEW_DIRECTORY,
    "absolute": _Path(resolve_path=True),
    "table": TABLE_FILE,
}
_BOUNDS = ("ge", "gt", "le", "lt")
_SEPARATOR = r"(?!\w+=)"
"""Behind a comma: one before NAME=VALUE, as in a view, separates nothing."""


def option(
    default: Any,
    help: str,
    *,
    flag: str | None = None,
    metavar: str | None = None,
    separator: str | None = None,
    type: click.ParamType[Any] | tuple[Any, ...] | None = None,
    shown: str | None = None,
    callback: Callable[..., Any] | None = None,
    **bounds: float,
) -> Any:
    """Return the field of an option.

    Parameters
    ----------
    default : object
        Value of the field where the option is not given; ``...``: it must be given.
    help : str
        Sentences that say what the option is for; the default follows them.
    flag : str, optional
        Name of the option, by default that of the field.
    separator : str, optional
        What separates several values in one text.
    type : ParamType or tuple, optional
        Type of the value, by default that of the field.
    shown : str, optional
        What the help says for the default.
    callback : callable, optional
        What click calls with the value.
    **bounds : float
        Bounds of a number: ``ge``, ``gt``, ``le``, ``lt``.
    """
    declared: dict[str, Any] = {
        "help": help,
        "flag": flag,
        "metavar": metavar,
        "separator": separator,
    }
    declared |= {"type": type, "shown": shown, "callback": callback, "bounds": bounds}
    return _field(default, declared)


def argument(
    metavar: str,
    default: Any = ...,
    *,
    type: click.ParamType[Any] | None = None,
    callback: Callable[..., Any] | None = None,
) -> Any:
    """Return the field of an argument; see `option`."""
    declared: dict[str, Any] = {
        "argument": metavar,
        "type": type,
        "callback": callback,
        "bounds": {},
    }
    return _field(default, declared)


def _field(default: Any, declared: Mapping[str, Any]) -> Any:
    if default is ...:
        return field(metadata=declared)
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=declared)
    return field(default=default, metadata=declared)


@dataclass(frozen=True)
class Setting:
    """A field of a class of settings, whichever kind of class it is.

    Attributes
    ----------
    name : str
        Name of the field.
    kind : object
        Its type.
    default : object
        Its default; ``...`` where it must be given.
    said : Mapping
        What the class says of the option.
    """

    name: str
    kind: Any
    default: Any
    said: Mapping[str, Any]

    @property
    def required(self) -> bool:
        """Tell whether a value must be given."""
        return self.default is ...


def settings_of(settings: type) -> Iterator[Setting]:
    """Yield the settings of a class that are arguments and options, in their order."""
    if hasattr(settings, "model_fields"):
        for name, one in settings.model_fields.items():
            extra = one.json_schema_extra if isinstance(one.json_schema_extra, dict) else {}
            if extra.get("command", True) and name != "threads":
                bounds = _bounds(one.metadata)
                inherited = getattr(settings, "command", {}).get(name, {})
                declared = {"help": one.description, **extra, **inherited, "bounds": bounds}
                default = ... if one.is_required() else one.get_default(call_default_factory=True)
                yield Setting(name, one.annotation, default, declared)
        return
    kinds = get_type_hints(settings, include_extras=True)
    for other in fields(settings):
        if other.metadata:
            default = ... if other.default is MISSING else other.default
            if other.default_factory is not MISSING:
                default = other.default_factory()
            yield Setting(other.name, kinds[other.name], default, other.metadata)


def _bounds(metadata: Any) -> dict[str, Any]:
    """Return bounds of a number, and ``max_length`` of a list, as pydantic keeps them."""
    bounds: dict[str, Any] = {}
    for one in metadata:
        bounds |= _bounds(getattr(one, "metadata", ()))  # Field(...) within Annotated
        for name in (*_BOUNDS, "max_length"):
            if (value := getattr(one, name, None)) is not None:
                bounds[name] = value
    return bounds


class _Option(click.Option):
    """An option whose default is filled in by the class of settings."""

    def __init__(self, *args: Any, known: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = known

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what the help says in brackets."""
        extra = super().get_help_extra(ctx)
        if self.known is not None:
            extra["default"] = self.known
        return extra


def parameters(settings: type, **more: Any) -> Iterator[click.Parameter]:
    """Yield the arguments and options of a class of settings.

    An option that is not used is None, or empty, so that the class fills in its default.

    Parameters
    ----------
    **more : object
        Further arguments of each `click.Parameter`.
    """
    for one in settings_of(settings):
        if "argument" in one.said:
            yield _argument(one, **more)
            continue
        known = {**_kind(one), **more}
        if one.said.get("callback"):
            known["callback"] = one.said["callback"]
        text = _sentence(str(one.said["help"]))
        default = _DEFAULT.search(text)
        yield _Option(
            [*_flags(one), one.name],
            **({} if one.required else {"default": None}),
            **known,
            metavar=one.said.get("metavar") or _metavar(known.get("type")),
            required=one.required,
            help=_DEFAULT.sub("", text),
            known=default[1] if default else one.said.get("shown") or _spelled(one.default),
        )


def _flags(one: Setting) -> list[str]:
    plain = one.name.replace("_", "-")
    flag = str(one.said.get("flag") or (f"-{plain}" if len(plain) == 1 else f"--{plain}"))
    both = _is_flag(one) and one.default is True and "/" not in flag
    return [f"{flag}/--no-{flag.removeprefix('--')}"] if both else flag.split(" ")


def _is_flag(one: Setting) -> bool:
    return one.kind is bool and not one.said.get("choices")


_EMPTY = re.compile(r"[.;] [Ee]mpty: ([^.]*)\.?")
"""What an empty field of a form means: the default of an option."""


_DEFAULT = re.compile(r" \[default: (.*)\]$")


def _sentence(text: str) -> str:
    empty = _EMPTY.search(text)
    text = _EMPTY.sub(".", text).rstrip(".")
    text = text if text.endswith("]") else f"{text}."
    return f"{text} [default: {empty[1]}]" if empty else text


def _metavar(kind: Any) -> str | None:
    """Return the name of a number; that of other values follows from their type."""
    if isinstance(kind, type(click.INT)):
        return "N"
    return "NUMBER" if isinstance(kind, type(click.FLOAT)) else None


def _spelled(default: Any) -> str | None:
    """Write a default as it is typed; None where there is nothing to type."""
    if default in (None, "", (), {}, [], ...) or isinstance(default, bool):
        return None
    if isinstance(default, tuple | list):
        return ",".join(map(str, default))
    return str(default)


def _argument(one: Setting, **more: Any) -> click.Argument:
    metavar = str(one.said["argument"])
    (kind, *_) = _alternatives(one.kind)
    several = get_origin(kind) is tuple
    single = not several or one.said["bounds"].get("max_length") == 1
    shown = metavar if single else f"{metavar}..." if one.required else f"[{metavar}]..."
    path = several and get_args(kind)[0] is Path
    return click.Argument(
        [one.name],
        type=one.said.get("type") or (PATH if path else _type(kind, one.said, {})),
        nargs=1 if single else -1,
        required=one.required,
        metavar=shown if one.required or not single else f"[{metavar}]",
        callback=one.said.get("callback") or (_tuple if several and single else None),
        **more,
    )


def _tuple(context: click.Context, option: click.Parameter, value: Any) -> tuple[Any, ...]:
    return (value,)


def _kind(one: Setting) -> dict[str, Any]:
    """Return the type of an option, and how many values it takes."""
    (kind, *others) = _alternatives(one.kind)
    origin = get_origin(kind)
    several = origin in (tuple, list) and get_args(kind)[1:] in ((...,), ())
    if one.said.get("type"):
        return {"type": one.said["type"], "multiple": several and not one.said.get("separator")}
    if _is_flag(one):
        return {"is_flag": True}
    if choices := one.said.get("choices"):
        return {"type": Words(choices)}
    if origin is dict:
        return {"type": click.STRING, "multiple": True, "callback": pairs_of}
    if several and (separator := one.said.get("separator")):
        inner = _type(get_args(kind)[0], one.said, one.said["bounds"])
        return {"type": click.STRING, "callback": _divided(str(separator), inner)}
    if several:
        return {"type": _type(get_args(kind)[0], one.said, {}), "multiple": True}
    if origin is tuple:
        inner, *_ = get_args(kind)
        return {"type": _type(inner, one.said, {}), "nargs": len(get_args(kind))}
    if others and get_origin(others[0]) is Literal:
        return {"type": NumberOrWord(_type(kind, one.said, one.said["bounds"]), get_args(*others))}
    return {"type": _type(kind, one.said, one.said["bounds"])}


def _divided(separator: str, kind: click.ParamType[Any]) -> Callable[..., Any]:
    """Return what divides a text into its values."""

    def divided(context: click.Context, option: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        parts = [part.strip() for part in re.split(separator + _SEPARATOR, value)]
        return tuple(kind.convert(part, option, context) for part in parts)

    return divided


def as_text(value: Any) -> Any:
    """Return a path as text, where a class of settings has it so."""
    return str(value) if isinstance(value, Path) else value


def _alternatives(kind: Any) -> tuple[Any, ...]:
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return tuple(one for one in kinds if one is not NoneType)


def _type(kind: Any, said: Mapping[str, Any], bounds: Mapping[str, Any]) -> click.ParamType[Any]:
    if get_origin(kind) is Annotated:
        kind, *inner = get_args(kind)
        bounds = {**bounds, **_bounds(inner)}
    if get_origin(kind) is Literal:
        return Words(get_args(kind))
    if "path" in said:
        return _PATHS[str(said["path"])]
    if kind is Path:
        return PATH
    if kind not in (int, float):
        return click.STRING
    open_ends = {"min_open": "gt" in bounds, "max_open": "lt" in bounds}
    least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
    if least is most is None:
        return Whole() if kind is int else Real()
    range_: Any = WholeRange if kind is int else RealRange
    ranged: click.ParamType[Any] = range_(least, most, **open_ends)
    return ranged
