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

    walk = walk_of(lambda: door.enter(deep.run), tmp_path)
    assert {file: list(names) for file, names in walk.files.items()} == {
        "door.py": ["enter"],
        "deep.py": ["run"],
    }
    assert (walk.functions, dict(walk.stays)) == (2, {"door": 1, "deep": 1})


def test_a_call_of_what_a_room_above_handed_in_goes_back_up(tmp_path):
    deep = loaded(tmp_path / "deep.py", "def run(judge):\n    return judge()\n")
    door = loaded(tmp_path / "door.py", "def judge():\n    return 1\n\n"
                  "def enter(call):\n    return call(judge)\n")  # fmt: skip

    walk = walk_of(lambda: door.enter(deep.run), tmp_path)
    assert list(walk.calls) == [("door.py", "deep.py"), ("deep.py", "door.py")]
    assert walk.back_up({"door": 2, "deep": 1}) == [("deep.py", "door.py")]


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
