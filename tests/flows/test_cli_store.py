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
