"""What the journeys say of a page."""

import pytest

from tests.flows import journeys, pages

PAGE = """# A page

    echo one > file
    cat file

```python
number = 3
```

```python
print(f"{number}0 " * 30, flush=True)
```

    make everything

```toml
name = "none"
```

## What fails

    cat nowhere

```sh
printf '{"json": %0100d}\\n' 1
```
"""


@pytest.fixture
def row(tmp_path, monkeypatch):
    """The row of a page of these blocks, whose screens lie in a folder."""

    def travelled(text):
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "page.md").write_text(text)
        monkeypatch.setattr(pages, "REPOSITORY", tmp_path)
        monkeypatch.setitem(journeys.JOURNEYS, "page", "docs/page.md")
        return journeys.travel("page", tmp_path, tmp_path)

    return travelled


def test_blocks_are_typed_in_one_folder_and_what_fails_is_told(row, tmp_path):
    found = row(PAGE)
    assert (found.blocks, found.typed, found.passed) == (6, 5, 4)
    (failure,) = found.failures
    assert failure.startswith("cat nowhere\n  ended with exit code 1\n  cat: nowhere")
    # The line of JSON is as wide, and is for programs.
    assert found.wide == 1
    screens = [(tmp_path / f"page-{number}.txt").read_text() for number in range(4)]
    assert screens[0].startswith("echo one > file\ncat file\n--- silent for ")
    assert screens[0].endswith("s\none\n")
    assert "30 30 30" in screens[1]
    assert found.cells()[0] == "page"
    assert len(found.cells()) == len(journeys.HEAD)


def test_python_that_fails_shows_its_traceback_and_ends_the_page(row):
    found = row("```python\n1 / 0\n```\n\n    true\n")
    assert (found.typed, found.passed) == (2, 1)
    assert "Python has ended" in found.failures[0]
    assert "ZeroDivisionError: division by zero" in found.failures[0]
    assert found.failures[1].endswith("shows a traceback")


def test_a_server_is_left_once_it_answers(row, monkeypatch):
    # What says that it is ready is what Ctrl-C ends: a shell could be between two commands.
    program = "import signal, time; signal.signal(2, signal.SIG_DFL); print('ready', flush=True)"
    monkeypatch.setitem(journeys.printed.ANSWERS, "python3 -c", lambda log: "ready" in log())
    server = f'python3 -c "{program}; time.sleep(600)"'
    found = row(f"    {server}\n\nIn another terminal:\n\n    true\n")
    assert (found.typed, found.passed, found.failures) == (2, 2, [])
