"""Hyper-parameters that no training could follow, in every field of every model."""

import math
import re
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from ssi_core.estimator import parse
from ssi_core.experiment import parse_table
from ssi_core.models import MODELS, bm25, bm25f
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.choice import untrained
from ssi_core.types import BadInput

NEEDED = {"parts": ({"model": "tfidf"}, {"model": "bm25"})}
ABSURD = {
    float: (math.nan, math.inf, -math.inf, -1.0, 1e300),
    int: (-1, 0, 10**12, 10**300, math.nan, 1.5),
}


def kinds(hint):
    """Numbers that a field takes: (float, a list of them), ..."""
    for option in get_args(hint) or (hint,):
        if option in ABSURD:
            yield option, get_args(hint)[-1] is Ellipsis if get_args(hint) else False
        elif get_args(option):
            yield from kinds(option)


ZERO_IS_A_NUMBER = {"decays"}


def absurd(name):
    """(field, value) of every number that a model takes."""
    hints = get_type_hints(MODELS[name])
    for field in fields(MODELS[name]):
        for kind, several in kinds(hints[field.name]):
            for value in ABSURD[kind]:
                if value != 0 or field.name not in ZERO_IS_A_NUMBER:
                    yield field.name, (value,) if several else value


def test_every_model_with_numbers_is_looked_at():
    texts = {"str", "str | None", "Values[str]"}
    for name, model in MODELS.items():
        assert any(absurd(name)) == bool({f.type for f in fields(model)} - texts), name
    looked_at = {field for field, _ in absurd("bilinear")}
    assert {"alpha", "rates", "margin", "budget", "init_std", "pairs", "patience"} <= looked_at


@pytest.mark.parametrize("name", MODELS)
def test_an_absurd_number_is_refused_by_its_name(name):
    known = {f.name for f in fields(MODELS[name])}
    needed = {field: value for field, value in NEEDED.items() if field in known}
    answers = {}
    for field, value in absurd(name):
        try:
            parse(MODELS[name], needed | {field: value})
        except ValueError as error:
            answers[field, repr(value)] = str(error)
        else:
            answers[field, repr(value)] = "taken"
    wrong = {
        place: said
        for place, said in answers.items()
        if not re.match(rf"{place[0]}=.*expected", said)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rates": (0.1, math.nan)}, "number 2: expected a finite number"),
        ({"rates": ()}, "expected at least one"),
        ({"alpha": (1.0, -2.0)}, "number 2: expected at least 0"),
        ({"budget": 10**12}, "expected at most 1e+11"),
        ({"dimensions": "8"}, "expected a whole number"),
        ({"tied": 1}, "expected true or false"),
        ({"form": "dense"}, "expected 'zero' or 'low_rank'"),
    ],
)
def test_the_message_says_what_was_expected(settings, message):
    with pytest.raises(ValueError, match="=") as error:
        Bilinear(**settings)
    assert (
        str(error.value) == f"{next(iter(settings))}={next(iter(settings.values()))!r}: {message}"
    )


def test_a_table_names_the_row():
    rows = [{"label": "A", "model": "bilinear", "rates": [math.inf]}]
    table = parse_table({"name": "mine", "title": "Mine", "rows": rows}, "my.toml")
    with pytest.raises(BadInput, match=r"my\.toml: row 'A'.*rates=\(inf,\): number 1: expected"):
        table.row("A").ranker()


def test_what_is_odd_and_means_something_is_taken():
    Bilinear(alpha=0, margin=0.0, alpha_rate=0, rates=(1e-12, 1e4), pairs=1.0, budget=1)


@pytest.mark.parametrize(
    ("name", "tried"),
    [
        ("bm25", bm25.TRIED),
        ("bm25f", bm25f._TRIED),
        ("lsi_mixture", {"alphas": untrained._ALPHAS}),
        ("language_model", {"background": untrained._BACKGROUNDS}),
    ],
)
def test_what_is_tried_is_within_the_bounds_and_first_the_default(name, tried):
    model = MODELS[name]
    for setting, values in tried.items():
        default = getattr(model(), setting)
        assert len({*values}) == len(values), setting
        if name == "bm25f":
            assert values[0] == default[0], setting
        for value in values:
            given = {setting: (value,) if isinstance(default, tuple) else value}
            assert getattr(model(**given), setting) == given[setting]
