"""What `read`, `fit`, `Task.of` and `index` take, as a type checker reads it."""

import pytest
from mypy import api

RIGHT = """
docs = ssi.read(["a", "b"], [(0, 1)])
ssi.read(np.array(["a", "b"]), links=sparse.csr_array([[0, 1], [0, 0]]))
ssi.read(pl.Series(["a"]))
ssi.read([Path("a.jsonl"), Path("b.jsonl")], links=[Path("c.csv")], texts=docs)
ssi.read("a.jsonl", links=pl.DataFrame({"from": ["a"], "to": ["b"]}))
ssi.read([{"text": "a", "links": ["b"]}], columns={"id": "x"})
ssi.read({"id": ["a"], "text": ["b"]}, links=np.array([[0, 1]]))
task = ssi.Task.of(docs)
ssi.SSI(dimensions=3).fit(docs).index(["a"])
ssi.SSI().fit(task).index(task)
ssi.fit("a.jsonl", queries="q.tsv", qrels=[("q", "d", 1)])
ssi.fit(task)
ssi.compare([ssi.BM25().fit(task)], task, measures="MAP")
"""
WRONG = """
ssi.read(3)
ssi.read([1, 2])
ssi.read("a", links=3.0)
ssi.SSI().fit(["a car"])
ssi.SSI(dimension=3)
ssi.fit(7)
ssi.fit("a", queries=1)
ssi.Task.of(1)
ssi.BM25().index(1)
"""
HEAD = """from pathlib import Path
import numpy as np
import polars as pl
from scipy import sparse
import ssi_core as ssi
"""


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "is_wrong"), [(RIGHT, False), (WRONG, True)])
def test_a_type_checker_tells_what_is_taken(typed, is_wrong, tmp_path):
    (tmp_path / "typed.py").write_text(HEAD + typed.lstrip())
    said, errors, _ = api.run([str(tmp_path / "typed.py")])
    assert not errors
    told = {int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line}
    first = HEAD.count("\n") + 1
    assert told == (set(range(first, first + typed.strip().count("\n") + 1)) if is_wrong else set())
