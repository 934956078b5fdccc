"""The walk of a call: files and functions that it enters."""

import importlib.util
import sys

from benchmarks.walks import walk_of


def loaded(path, source):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_walk_has_files_in_the_order_of_entry_and_each_function_once(tmp_path):
    deep = loaded(tmp_path / "deep.py", "def run(n):\n    return [n for n in range(n)]\n")
    door = loaded(tmp_path / "door.py", "def enter(call):\n    return [call(2), call(3)]\n")
    loaded(tmp_path / "other.py", "def unused():\n    pass\n")

    assert walk_of(lambda: door.enter(deep.run), tmp_path) == {
        "door.py": ["enter"],
        "deep.py": ["run"],
    }


def test_walk_restores_the_profiler(tmp_path):
    def profiler(frame, event, argument):
        return None

    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        walk_of(lambda: None, tmp_path)
        kept = sys.getprofile()
    finally:
        sys.setprofile(before)

    assert kept is profiler
