"""What keeps the digest of the code that rows reach, and what makes another one."""

import sys
from types import SimpleNamespace

import pytest

from flows.reporting import reached_code
from flows.reporting.reached_code import reached_digest

FILES = {
    "model.py": """
from ssi_core import steps
from ssi_core.numbers import RATE as rate
class Model:
    passes: int = 3
    def fit(self, weights):
        if not weights:
            raise ValueError(f"no weights: {explained(weights)}")
        return steps.taken(weights, rate) * self.passes
def explained(weights):
    return str(weights)
""",
    "steps.py": """
def taken(weights, rate):
    return [_one(w) * rate for w in weights]
def _one(w):
    return w + 1
def other(w):
    return w + 2
""",
    "numbers.py": "RATE = 0.1\n",
    "others.py": "RATE = 0.2\n",
}
MOVED = {
    "steps.py": FILES["steps.py"].replace("def _one", "from ssi_core.one import _one\ndef _two"),
    "one.py": "def _one(w):\n    return w + 1\n",
}


def digest(tmp_path, *edits, **files):
    """Digest of the method in a directory of its own, after edits: file, old text, new text."""
    root, texts = tmp_path / str(len([*tmp_path.iterdir()])), FILES | files
    for name, old, new in edits:
        assert old in texts[name]
        texts[name] = texts[name].replace(old, new)
    (root / "ssi_core").mkdir(parents=True)
    for name, text in texts.items():
        (root / "ssi_core" / name).write_text(text)
    method = SimpleNamespace(__module__="ssi_core.model", __qualname__="Model.fit")
    return reached_digest(method, root=root)


KEPT = {
    "import": ("model.py", "RATE as rate", "RATE as rate, others"),
    "more imports": ("steps.py", "def taken", "import os\nimport re\nimport sys\ndef taken"),
    "import where it is used": ("steps.py", "    return [", "    import os\n    return ["),
    "annotation": ("steps.py", "(weights, rate)", "(weights: list[float], rate) -> list"),
    "docstring": ("steps.py", "def _one(w):", "def _one(w):\n    'Step.'  # one"),
    "message": ("model.py", "no weights", "give weights"),
    "words of a message": ("model.py", "return str", "return repr"),
    "not used": ("steps.py", "w + 2", "w + 3"),
    "not imported": ("others.py", "0.2", "0.3"),
}
OTHER = {
    "called": ("steps.py", "w + 1", "w + 2"),
    "constant": ("numbers.py", "0.1", "0.2"),
    "field": ("model.py", "passes: int = 3", "passes: float = 3"),
    "error": ("model.py", "ValueError", "KeyError"),
    "imported": ("model.py", "ssi_core.numbers", "ssi_core.others"),
    "done on import": ("numbers.py", "0.1", "0.1\nprint(1)"),
}


@pytest.mark.parametrize("edit", [*KEPT.values(), *OTHER.values()], ids=[*KEPT, *OTHER])
def test_the_digest_is_another_if_what_is_computed_may_be(edit, tmp_path):
    assert (digest(tmp_path, edit) == digest(tmp_path)) == (edit in KEPT.values())


def test_the_digest_is_kept_where_code_moves(tmp_path):
    spelt = ("model.py", "ssi_core import steps", ".walks import taken as took")
    renamed = digest(
        tmp_path, spelt, ("model.py", "steps.taken", "took"), **{"walks.py": FILES["steps.py"]}
    )
    assert digest(tmp_path, **MOVED) == renamed == digest(tmp_path)


def test_two_names_that_change_places_are_noticed(tmp_path):
    text = "from ssi_core import numbers, others\nclass Model:\n  fit = {}.RATE - {}.RATE\n"
    one, two = text.format("numbers", "others"), text.format("others", "numbers")
    assert digest(tmp_path, **{"model.py": one}) != digest(tmp_path, **{"model.py": two})


def test_a_model_of_another_package_is_read_with_what_it_uses_there(tmp_path, monkeypatch):
    def digest_with(rate):
        file = tmp_path / "theirs.py"
        file.write_text(f"RATE = {rate}\nclass Model:\n  rate = RATE\n")
        monkeypatch.setitem(sys.modules, "theirs", SimpleNamespace(__file__=str(file)))
        reached_code._sources.cache_clear()
        return reached_digest(SimpleNamespace(__module__="theirs", __qualname__="Model"))

    assert digest_with(1) == digest_with(1) != digest_with(2)


def test_a_dictionary_of_the_tokenizer_counts(tmp_path, monkeypatch):
    before = digest(tmp_path)
    monkeypatch.setitem(reached_code.DATA, "ssi_core.steps", "version")
    monkeypatch.setitem(sys.modules, "ssi_core.steps", SimpleNamespace(version=lambda: "2"))
    assert digest(tmp_path) != before
