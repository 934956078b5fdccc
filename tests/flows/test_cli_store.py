"""``ssi store``: what was made, checked."""

import shutil


def test_verify_names_what_was_damaged(own_root, project, tmp_path, ssi):
    code, value, _ = ssi("store", "verify")
    assert (code, value) == (0, {"directories": 0, "bytes": 0, "damaged": 0})
    shutil.copytree(project / "task", tmp_path / "root/.ssi/store/task/k")
    code, value, _ = ssi("store", "verify")
    assert (code, value["directories"], value["damaged"]) == (0, 1, 0)
    assert value["bytes"] > 10_000
    part = next((tmp_path / "root/.ssi/store/task/k").rglob("idf.npy"))
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    for places in ((), (tmp_path / "root",)):
        code, value, _ = ssi("store", "verify", *places)
        assert code == 3
        assert f"1 of 1 directories are damaged: {part}: its bytes" in value["error"]["message"]


def test_compiled_kernels_are_listed_and_removed(own_root, tmp_path, monkeypatch, ssi):
    from ssi_core import compiled

    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    compiled.write("build", "key", bytes(1000))
    kept = {"kernels": 1, "bytes": 1032}
    code, value, _ = ssi("store", "list")
    assert (code, value) == (0, {"artefacts": [], "compiled": kept})
    code, value, _ = ssi("store", "remove", tmp_path, "--compiled")
    assert code == 3
    assert "--compiled removes no" in value["error"]["message"]
    assert ssi("store", "remove", "--compiled")[:2] == (0, {"compiled": kept})
    assert ssi("store", "list")[1]["compiled"] == {"kernels": 0, "bytes": 0}
