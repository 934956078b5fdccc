"""Options follow from settings: none is written by hand, and a name has one kind of value."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
from click.shell_completion import BashComplete
from pydantic import BaseModel, Field

from flows.cli import cli
from ssi_core.command.fields import argument, option, parameters, settings_of
from ssi_core.command.verb import Outcome, Verbs, run
from tests.robust.verbs import command_of, verbs

ROOT = Path(__file__).parents[3]
BY_HAND = re.compile(r"\bclick\.(?:option|argument|Option|Argument)\(|@click\.(?:option|argument)")
MAKER = "ssi_core/command/fields.py"


def test_no_option_is_written_by_hand():
    """222 of them were, before options followed from settings."""
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for room in ("ssi_core", "flows")
        for path in (ROOT / room).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if BY_HAND.search(line) and str(path.relative_to(ROOT)) != MAKER
    ]
    assert found == []


def test_an_option_takes_its_default_when_it_is_typed():
    refused, checked = [], 0
    for verb in verbs():
        command = command_of(verb)
        context = click.Context(command)
        for param in command.get_params(context):
            shown = getattr(param, "known", None)
            if shown is None or not re.fullmatch(r"[\d.,]+", shown):
                continue
            checked += 1
            try:
                param.type_cast_value(context, shown)
            except click.BadParameter as error:
                refused.append(f"{verb} {param.name}: {error.message}")
    assert refused == []
    assert checked > 80


def test_seeds_have_one_default():
    found = {
        (param.name, getattr(param, "known", None))
        for verb in verbs()
        for param in command_of(verb).params
        if (param.name or "").endswith("seed")
    }
    assert {name for name, _ in found} >= {"seed", "split_seed"}
    assert {shown for _, shown in found} == {"0"}


def test_a_measure_may_be_written_as_its_heading():
    for verb, typed, kept in (
        ("fit", "nDCG@10", "ndcg_at_10"), ("fit", "MRR", "mrr"), ("retrain", "MAP", "map"),
    ):  # fmt: skip
        params = cli.get_command(click.Context(cli), verb).params
        (measure,) = (param for param in params if param.name == "measure")
        assert measure.type.convert(typed, measure, None) == kept
        with pytest.raises(click.BadParameter, match=r"'nDCG@5' is not one of .*map"):
            measure.type.convert("nDCG@5", measure, None)


def kind_of(param):
    """Kind of the values of an option, as a person who types them sees it."""
    if param.is_flag:
        return "flag"
    several = "list of " if re.fullmatch(r"(\w+),\1", param.metavar or "") else ""
    if several:
        return several + ("numbers" if param.metavar == "N,N" else "words")
    if "=" in (param.metavar or ""):
        return param.metavar
    if isinstance(param.type, click.Choice):
        return frozenset(param.type.choices)
    if isinstance(param.type, click.types._NumberParamTypeBase) or param.type.name == "number":
        return "number"
    if isinstance(param.type, click.Path):
        return "path"
    return param.metavar if param.metavar and "|" not in param.metavar else "text"


def kinds():
    """Name of an option -> kind of value -> verbs that have it so."""
    found = defaultdict(lambda: defaultdict(list))
    for verb in verbs():
        command = command_of(verb)
        for param in command.get_params(click.Context(command)):
            if isinstance(param, click.Option):
                for name in param.opts:
                    found[name][kind_of(param)].append(verb)
    return found


def agree(one, other):
    """Tell whether two kinds are one: choices are where they have some in common."""
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return bool(one & other)
    return one == other


def test_no_name_of_an_option_has_two_kinds_of_values():
    differing = {
        name: dict(of)
        for name, of in kinds().items()
        if not all(agree(one, other) for one in of for other in of)
    }
    assert differing == {}


def test_every_option_says_what_it_is_for():
    for verb in verbs():
        command = command_of(verb)
        for param in command.get_params(click.Context(command)):
            if isinstance(param, click.Option):
                assert re.match(r"[A-Z0-9]", param.help), (verb, param.opts)
                assert param.help.endswith((".", ")")), (verb, param.opts)
                assert not re.search(r"\b[Ee]lse [\d.]+|^Of ", param.help), (verb, param.opts)


class Form(BaseModel):
    """A form."""

    place: str = Field(description="A place", json_schema_extra={"argument": "PLACE"})
    size: Annotated[int, Field(ge=2)] | Literal["all"] = Field(default=9, description="A size")
    names: list[str] = Field(
        default_factory=list,
        description="Names; empty: all",
        json_schema_extra={"separator": ",", "flag": "--only"},
    )
    loud: bool = Field(default=False, description="Be loud")
    hidden: int = Field(default=1, description="Not here", json_schema_extra={"command": False})


@dataclass(frozen=True, kw_only=True)
class Plain:
    """The same, without pydantic."""

    place: str = argument("PLACE")
    size: int = option(9, "A size.", ge=2)
    names: tuple[str, ...] = option((), "Names. [default: all]", flag="--only", separator=",")
    loud: bool = option(False, "Be loud.")


@pytest.mark.parametrize("settings", [Form, Plain])
def test_a_class_of_settings_makes_a_verb(settings, capsys):
    group = Verbs("ssi")

    @group.verb(settings, examples=("ssi see here",))
    def see(given):
        """See."""
        values = {"place": given.place, "size": given.size, "names": list(given.names)}
        return Outcome(values | {"loud": given.loud}, lambda console: None)

    assert [param.opts[0] for param in parameters(settings)] == [
        *("place", "--size", "--only", "--loud")
    ]
    assert run(group, ["see", "here", "--json"]) == 0
    assert '{"place": "here", "size": 9, "names": [], "loud": false}' in capsys.readouterr().out
    assert run(group, ["see", "here", "--size", "3", "--only", "a, b", "--loud", "--json"]) == 0
    assert '"size": 3, "names": ["a", "b"], "loud": true' in capsys.readouterr().out
    assert run(group, ["see", "here", "--size", "1"]) == 2
    assert run(group, ["see", "--help"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"--size .*A size\.  \[default: 9", text)
    assert re.search(r"--only .*Names\.  \[default: all\]", text)


def test_flows_have_the_classes_of_their_verbs():
    from flows import features, pipeline, retrain, train

    for verb, flow in (
        ("lab pipeline", pipeline.pipeline),
        ("lab train", train.train),
        ("retrain", retrain.retrain),
        ("data features", features.features),
    ):
        (settings,) = command_of(verb).settings
        assert flow.fn.__annotations__["settings"] == settings.__name__
        assert settings.__name__ in flow.fn.__globals__
        assert flow.fn.__globals__[settings.__name__] is settings


def test_the_form_of_evaluate_has_the_fields_of_its_verb():
    from flows.evaluate import EvaluateSettings

    with pytest.raises(ValueError, match="greater than or equal to 1"):
        EvaluateSettings(model="m", task="t", queries=0)
    (settings,) = command_of("lab evaluate").settings
    form, verb = EvaluateSettings.model_fields, {one.name: one for one in settings_of(settings)}
    shared = form.keys() & verb.keys()
    assert shared == {"model", "task", "fold", "side", "queries", "seed"}
    for name in shared - {"task"}:
        assert form[name].description == verb[name].said.get("help")
    assert EvaluateSettings(model="m", task="t").model_dump() == {
        **{"model": "m", "task": "t", "fold": None, "side": "test", "queries": None},
        **{"tuples": 100_000, "seed": 0},
    }


def test_a_shell_completes_groups_verbs_and_options():
    complete = BashComplete(cli, {}, "ssi", "_SSI_COMPLETE").get_completions

    def completed(words, begun):
        return [one.value for one in complete(words, begun)]

    assert completed([], "") == cli.list_commands(click.Context(cli))
    assert completed(["data"], "f") == ["features"]
    assert completed(["rank", "rerank"], "sc") == ["score"]
    assert completed(["lab", "pipeline"], "--sa") == ["--sample", "--sample-seed"]


def test_a_path_may_begin_with_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/a.md").write_text("# A\n\n[b](b.md)")
    (tmp_path / "pages/b.md").write_text("# B")
    assert run(cli, ["data", "ingest", "folder", "~/pages", "--out=~/corpus"]) == 0
    assert (tmp_path / "corpus").is_dir()


@pytest.mark.parametrize("level", range(4))
def test_the_shared_options_are_taken_at_any_level(level, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", "")
    words = ["data", "store", "list"]
    words[level:level] = ["--json", "--verbose", "--threads", "1", "--root", str(tmp_path)]
    assert run(cli, words) == 0
    printed, log = capsys.readouterr()
    assert json.loads(printed)["artefacts"] == []
    assert f"root {tmp_path}" in log


def test_the_command_lists_every_verb_once():
    paths = [*verbs()]
    assert len(paths) == len(set(paths))
    assert {path.split()[0] for path in paths} == set(cli.list_commands(click.Context(cli)))


def test_a_path_is_not_called_a_number_because_python_may_give_a_dict_in_its_place():
    (of_map,) = (one for one in command_of("data ingest clicks").params if one.name == "map")
    assert of_map.make_metavar(click.Context(cli)) == "PATH"
