import json

from flows.cli import cli
from flows.command import run


def ssi(capsys, *said):
    code = run(cli, [*map(str, said), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_frozen_set_bars_its_links(tmp_path, corpus_dir, capsys, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    code, frozen = ssi(capsys, "freeze", corpus_dir, "--queries", 40)
    assert (code, frozen["counts"]["queries"]) == (0, 40)
    how = ("--frozen", frozen["path"], "--split-seed", 3, "--views", "raw")
    code, made = ssi(capsys, "features", corpus_dir, "--out", tmp_path / "task", *how)
    assert code == 0
    assert made["skipped"]["frozen_links"] > 0
    # Elsewhere it makes no sense, and a path that holds none is told.
    assert ssi(capsys, "features", corpus_dir, "--relevant", "link", *how[:2])[0] == 2
    assert ssi(capsys, "features", corpus_dir, "--frozen", corpus_dir)[0] == 3
