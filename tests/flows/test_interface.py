"""The interface is what its file says, and what the help says; settings cannot change."""

import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.flows import interface
from tests.robust.verbs import command_of, verbs

ROOT = Path(__file__).parents[2]
CHANGING = {
    *("command.verb:Settings", "guests.export.writing:Material", "face.bars:Bar"),
    "sample.draft:Article",
    *(
        "guests.click_logs.ubi.judged:UbiJudged",
        "guests.click_logs.ubi.lines:UbiLines",
        "store:Building",
    ),
    *("training.checkpoint:Log", "training.descend:Progress", "training.descend:_State"),
    *("flows.storage.backup:Facts", "flows.storage.backup:Contents"),
}
"""Dataclasses whose fields change."""
ANEW = "python -m tests.flows.interface writes it anew; a user reads the change in the changelog"


PARTS = (interface.options, interface.names, interface.forms, interface.reports)


@pytest.mark.parametrize("part", PARTS)
def test_the_interface_changes_on_purpose(part):
    kept = set(interface.FILE.read_text(encoding="utf-8").splitlines())
    assert [line for line in part() if line not in kept] == [], ANEW


def test_nothing_leaves_the_interface_unseen():
    assert interface.FILE.read_text(encoding="utf-8") == interface.written(), ANEW


def numbers():
    """Yield each option that takes a number, with its setting."""
    for verb in verbs():
        for setting, param in interface.of_verb(verb):
            if interface.bounds(param.type):
                yield verb, setting, param, getattr(param.type, "number", param.type)


def test_a_help_shows_the_default():
    """What a help shows, when typed, is what the class of settings fills in."""
    checked = 0
    for verb, setting, param, _ in numbers():
        shown = getattr(param, "known", None) or ""
        if setting.default is not None and re.fullmatch(r"[\d.e]+", shown):
            typed = param.type_cast_value(click.Context(command_of(verb)), shown)
            assert typed == setting.default, (verb, setting.name)
            checked += 1
    assert checked > 60


def test_a_bound_is_taken_and_what_lies_beyond_is_refused():
    checked = 0
    for verb, setting, param, kind in numbers():
        context, step = click.Context(command_of(verb)), 1 if "int" in kind.name else 1e-6
        for bound, is_open, beyond in (
            (kind.min, kind.min_open, -step),
            (kind.max, kind.max_open, step),
        ):
            if bound is None:
                continue
            inside, outside = (bound - beyond, bound) if is_open else (bound, bound + beyond)
            assert kind.convert(str(inside), param, context) == inside, (verb, setting.name)
            with pytest.raises(click.BadParameter, match="is not in the range"):
                kind.convert(str(outside), param, context)
            checked += 1
    assert checked > 100


def test_settings_are_given_by_name():
    classes = {one for verb in verbs() for one in command_of(verb).settings if is_dataclass(one)}
    assert len(classes) > 40
    for one in classes:
        assert [field.name for field in fields(one) if not field.kw_only] == [], one


def files():
    """Yield the files that declare dataclasses, as paths within the project."""
    for room in ("ssi_core", "flows"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if re.search(r"^@dataclass", path.read_text(encoding="utf-8"), re.MULTILINE):
                yield path.relative_to(ROOT)


def test_dataclasses_are_frozen_save_those_that_are_named():
    changing = set()
    for path in files():
        module = import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
        for name, one in vars(module).items():
            own = getattr(one, "__module__", "") == module.__name__
            if own and is_dataclass(one) and not one.__dataclass_params__.frozen:
                changing.add(f"{module.__name__.removeprefix('ssi_core.')}:{name}")
    assert changing == CHANGING
