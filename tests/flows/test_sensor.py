import pytest


@pytest.fixture
def look(root, monkeypatch):
    """Look at paths outside of a run; what was emitted beside what was found."""
    from flows import sensor

    said = []
    monkeypatch.setattr(sensor, "emit_event", lambda name, **how: said.append((name, how)))

    def once(*paths):
        said.clear()
        settings = sensor.SensorSettings(paths=[str(path) for path in paths])
        return sensor.sensor.fn(settings), list(said)

    return once


def test_what_is_new_or_changed_is_told_once(look, tmp_path):
    dump, other = tmp_path / "dump.xml", tmp_path / "directory"
    assert look(dump) == ([], [])
    dump.write_text("one")
    found, ((name, how),) = look(dump, other)
    assert (found, name) == ([str(dump)], "ssi.input.arrived")
    assert how["payload"]["path"] == str(dump)
    assert look(dump) == ([], [])
    dump.write_text("another")
    other.mkdir()
    (other / "part").write_text("three")
    assert look(dump, other)[0] == [str(dump), str(other)]
    assert look(dump, other) == ([], [])


def test_a_look_that_is_killed_tells_again(look, tmp_path, monkeypatch):
    from flows import sensor

    dump = tmp_path / "dump.xml"
    dump.write_text("one")
    with monkeypatch.context() as patch:
        patch.setattr(sensor, "emit_event", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            look(dump)
    assert look(dump)[0] == [str(dump)]
