from dataclasses import replace

import numpy as np

from ssi_core.features import code
from ssi_core.kernels import words
from ssi_core.text import tokenizer


def test_an_edit_of_the_code_makes_another_digest(tmp_path, monkeypatch):
    for room in ("features", "text", "kernels"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("")
    (tmp_path / "features" / "one.py").write_text("from ssi_core.text import two\n")
    (tmp_path / "text" / "two.py").write_text("from ssi_core.kernels.three import f\n")
    (tmp_path / "kernels" / "three.py").write_text("f = 1\n")
    (tmp_path / "kernels" / "other.py").write_text("g = 1\n")
    monkeypatch.setattr(code, "_ROOT", tmp_path)
    monkeypatch.setattr(code, "_HERE", tmp_path / "features")

    def after(file, text):
        (tmp_path / file).write_text(text)
        return code.digest.__wrapped__()

    digests = [
        code.digest.__wrapped__(),
        after("kernels/other.py", "g = 2\n"),
        after("kernels/three.py", "f = 2\n"),
        after("features/one.py", "import ssi_core.text.two\n"),
        after("features/new.py", ""),
    ]
    assert digests[0] == digests[1]
    assert len(np.unique(digests)) == 4


def test_the_kernels_and_the_tokenizer_are_in_it():
    names = {str(path) for path in code._files()}
    assert {words.__file__, tokenizer.__file__} <= names
    assert not any("sweep" in name for name in names)


def test_another_dictionary_makes_another_digest(monkeypatch):
    before = code.digest.__wrapped__()
    newer = replace(tokenizer.LANGUAGES["ja"], version=lambda: "another dictionary")
    monkeypatch.setitem(tokenizer.LANGUAGES, "ja", newer)
    assert code.digest.__wrapped__() != before
