"""Formulas of the pages: each becomes MathML without a part that was not understood."""

import re

import pytest

from tests.docs.pages import ROOT

FENCE = re.compile(r"^```math\n(.*?)^```", re.MULTILINE | re.DOTALL)
FORMULAS = [
    pytest.param(text, id=f"{path.name}: {text.splitlines()[0][:40]}")
    for path in sorted((ROOT / "docs").glob("*.md"))
    for text in FENCE.findall(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_mathml(text):
    pytest.importorskip("latex2mathml")
    from tests.docs.formulas import fence

    shown = fence(text, "math", "formula", {}, None)
    assert shown.startswith('<div class="formula"><math')
    left = re.sub(r"<[^>]*>", "", shown)
    assert "\\" not in left, "a command that was not understood"
    assert "&amp;" not in left
    assert shown.count("<mtr>") in (0, text.count("\\\\") + 1)


def test_the_models_have_formulas():
    assert len(FORMULAS) > 25
