import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ssi_core import code, resources
from ssi_core.code import digest_of, digest_of_modules
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.text import tokenizer

MODEL = "ssi_core.models.bilinear.bilinear"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A copy of the sources, for edits."""
    path = tmp_path_factory.mktemp("sources")
    source = Path(code.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "*.tsv", "*.toml")
    shutil.copytree(source, path / "ssi_core", ignore=ignored)
    return path


@pytest.fixture
def after(root):
    """Digest of the model after an edit, which is undone."""

    def digest(file, old, new):
        path = root / "ssi_core" / file
        whole = path.read_text(encoding="utf-8")
        assert old in whole
        path.write_text(whole.replace(old, new, 1), encoding="utf-8")
        try:
            return digest_of_modules([MODEL], root)
        finally:
            path.write_text(whole, encoding="utf-8")

    return digest


def test_a_copy_has_the_digest_of_what_is_loaded(root):
    assert (
        digest_of_modules([MODEL], root) == digest_of(Bilinear) == digest_of(Bilinear.__post_init__)
    )


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("models/bilinear/low_rank.py", "class LowRank(Tr", "# why\nclass LowRank(Tr"),
        ("models/bilinear/low_rank.py", "Return the map of the words of a side.", "Begin."),
        ("training/sgd.py", '"""Triples that one of', '"""The triples that one of'),
        ("kernels/training/sweep.py", "\n\n_DRAWS", "\n\n\n\n_DRAWS"),
        (
            "models/bilinear/word_pairs.py",
            "_CHECKPOINT_BYTES = 1 << 30",
            "_CHECKPOINT_BYTES = 1 << 31",
        ),
        ("models/__init__.py", '        "tfidf": f"{_HERE}.tfidf:TfIdf",', ""),
        ("models/combined/parts.py", "part_{number}", "part{number}"),
    ],
    ids=["comment", "docstring", "of-a-value", "lines", "model", "registry", "room"],
)
def test_an_edit_of_a_comment_or_elsewhere_keeps_the_digest(file, old, new, after):
    assert after(file, old, new) == digest_of(Bilinear)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("models/bilinear/low_rank.py", "Dimensions = 100", "Dimensions = 101"),
        ("training/sgd.py", "_PIECE = 1000", "_PIECE = 1001"),
        ("kernels/training/sweep.py", "_DRAWS = 1000", "_DRAWS = 1001"),
        ("kernels/training/forms.py", '"low_rank"', '"low rank"'),
        (
            "training/fitting.py",
            "import numpy as np",
            "import numpy as np\nfrom ssi_core import resources",
        ),
    ],
    ids=["model", "training", "kernel", "string", "import"],
)
def test_an_edit_of_the_code_makes_another_digest(file, old, new, after):
    assert after(file, old, new) != digest_of(Bilinear)


def write(root, **files):
    for name, text in files.items():
        path = root / "ssi_core" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_imports_are_followed_however_they_are_written(tmp_path):
    write(
        tmp_path,
        a="from ssi_core import b\ndef f():\n    import ssi_core.room.c as c\n",
        b="from .room import d, value\nif TYPE_CHECKING:\n    from ssi_core import never\n",
        never="",
        room__c="import numpy",
        room__d="from ssi_core.a import f",
        room__e="",
    )
    (tmp_path / "ssi_core" / "room" / "__init__.py").write_text("from ssi_core.room.e import value")
    names = {name.removeprefix("ssi_core.") for name in code.reached(["ssi_core.a"], tmp_path)}
    assert names == {"a", "b", "room", "room.c", "room.d", "room.e"}


def test_a_module_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"'ssi_core\.nowhere' is no module"):
        digest_of_modules(["ssi_core.nowhere"])


def text(source):
    return code.written(code.plain(code.parsed(source)))


def test_the_way_to_write_it_down_is_left_out():
    one = 'def f(a):\n    """Do."""\n    return (a +\n      1)\n"Of f."\n'
    other = '# first\ndef f(a: int) -> int:\n  "Make."\n\n  return a + 1  # sum'
    assert text(one) == text(other)
    assert text("x: Final[str] = 'a'") == text('x = ("a")') != text("x = 'b'")
    assert text("if a:\n  b\nc") != text("if a:\n  b\n  c")
    assert text("f'{x}'") != text("f'{y}'")
    assert text("if TYPE_CHECKING:\n  import a\nelse:\n  b = 1\nc") == text("b = 1\nc")


def test_the_type_of_a_field_counts():
    assert text("class A:\n  x: int = 1") != text("class A:\n  x: float = 1")
    inside = "class A:\n  def f(self):\n    x{} = 1"
    assert text(inside.format("")) == text(inside.format(": int"))


def test_another_dictionary_makes_another_digest(monkeypatch):
    before = digest_of(tokenizer), digest_of(resources)
    newer = replace(tokenizer.LANGUAGES["ja"], version=lambda: "another dictionary")
    monkeypatch.setitem(tokenizer.LANGUAGES, "ja", newer)
    assert digest_of(tokenizer) != before[0]
    assert digest_of(resources) == before[1]


def test_what_is_remembered_of_a_source_is_what_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_CACHE", str(tmp_path))
    source = "from ssi_core import store\nx = 1\n"
    code._read.cache_clear()
    first = code._read(source)
    code._read.cache_clear()
    monkeypatch.setattr(code, "_read_anew", lambda source: pytest.fail("read again"))
    assert code._read(source) == first == (first[0], ("ssi_core.store",))


def test_another_process_finds_the_same_digest():
    module = "ssi_core.models.bilinear.bilinear"
    command = f"from ssi_core.code import *; print(digest_of_modules(['{module}']))"
    found = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == digest_of(Bilinear)


def test_a_tree_that_another_thread_disturbed_is_parsed_again(monkeypatch):
    parse, calls = code.ast.parse, []

    def disturbed(source):
        calls.append(source)
        if len(calls) < 3:
            raise SystemError("AST constructor recursion depth mismatch (before=57, after=49)")
        return parse(source)

    monkeypatch.setattr(code.ast, "parse", disturbed)
    assert code.ast.unparse(code.parsed("x = 1")) == "x = 1"
    assert len(calls) == 3
