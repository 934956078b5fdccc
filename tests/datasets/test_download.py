import bz2
import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ssi_core.datasets.wikipedia import download
from ssi_core.datasets.wikipedia.download import download_dump
from ssi_core.types import BadInput, Refused

DATA = bz2.compress(bytes(range(256)) * 40) * 300
FILE = "simplewiki-20240601-pages-articles.xml.bz2"


class Mirror(ThreadingHTTPServer):
    """A dump site of one file. ``breaks``: bytes after which a whole answer breaks off, in turn."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.breaks, self.fail, self.ranges = [], [], []
        self.knows_ranges = True
        self.sha1 = hashlib.sha1(DATA).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.server.fail:
            self.send_error(self.server.fail.pop(0))
        elif self.path.endswith("-sha1sums.txt") and "/simplewiki/" in self.path:
            self.answer(f"{'0' * 40}  other.bz2\n{self.server.sha1}  {FILE}\n".encode())
        elif self.path.endswith("pages-articles.xml.bz2"):
            self.send_file()
        else:
            self.send_error(404)

    def send_file(self):
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if not self.server.knows_ranges:
            start = 0
        if start >= len(DATA):
            self.send_error(416)
            return
        self.answer(DATA[start:], 206 if start else 200, cut=True)

    def answer(self, body, status=200, cut=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if cut and self.server.breaks:
            body = body[: self.server.breaks.pop(0)]
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def mirror():
    with Mirror() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetch(mirror, directory, **options):
    url = f"http://127.0.0.1:{mirror.server_port}/"
    return download_dump("simplewiki", directory, base_url=url, pause=0.001, **options)


def test_a_dump_is_fetched_once(mirror, tmp_path):
    shown = []
    path = fetch(mirror, tmp_path, progress=lambda fraction, message: shown.append(fraction))
    assert path == tmp_path / FILE
    assert path.read_bytes() == DATA
    assert shown == sorted(shown)
    assert shown[-1] == 1
    assert fetch(mirror, tmp_path) == path
    assert len(mirror.ranges) == 1
    assert [p.name for p in tmp_path.iterdir()] == [FILE]
    assert fetch(mirror, tmp_path / "of/dumps").read_bytes() == DATA


def test_a_download_that_breaks_off_goes_on_where_it_stopped(mirror, tmp_path):
    mirror.breaks = [len(DATA) // 3]
    assert fetch(mirror, tmp_path, date="20240601").read_bytes() == DATA
    assert mirror.ranges[0] is None
    assert 0 < int(mirror.ranges[1][6:-1]) <= len(DATA) // 3


def test_a_later_call_resumes(mirror, tmp_path):
    (tmp_path / (FILE + ".part")).write_bytes(DATA[:1000])
    assert fetch(mirror, tmp_path).read_bytes() == DATA
    assert mirror.ranges == ["bytes=1000-"]
    (tmp_path / FILE).rename(tmp_path / (FILE + ".part"))
    assert fetch(mirror, tmp_path).read_bytes() == DATA


def test_a_server_without_ranges_starts_anew(mirror, tmp_path):
    mirror.knows_ranges = False
    mirror.breaks = [5000]
    assert fetch(mirror, tmp_path).read_bytes() == DATA


def test_a_busy_server_is_asked_again(mirror, tmp_path):
    mirror.fail = [503, 429]
    assert fetch(mirror, tmp_path).read_bytes() == DATA


def test_it_gives_up_and_keeps_what_it_has(mirror, tmp_path):
    mirror.fail = [500] * 20
    with pytest.raises(Refused, match="5 times in a row"):
        fetch(mirror, tmp_path)
    assert not (tmp_path / FILE).exists()


def test_a_wrong_checksum_removes_the_file(mirror, tmp_path):
    mirror.sha1 = "1" * 40
    with pytest.raises(BadInput, match="the site lists 1111"):
        fetch(mirror, tmp_path)
    assert not list(tmp_path.iterdir())


def test_too_small_a_disk(mirror, tmp_path, monkeypatch):
    usage = download.shutil.disk_usage(tmp_path)._replace(free=100)
    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(Refused, match="are free there"):
        fetch(mirror, tmp_path)


def test_what_is_not_there(mirror, tmp_path):
    url = f"http://127.0.0.1:{mirror.server_port}"
    with pytest.raises(BadInput, match="answered 404"):
        download_dump("nonewiki", tmp_path, base_url=url)
    with pytest.raises(BadInput, match="lists no"):
        fetch(mirror, tmp_path, date="20200101")
    with pytest.raises(ValueError, match="expected a name"):
        download_dump("../etc", tmp_path, base_url=url)
    with pytest.raises(ValueError, match="expected YYYYMMDD"):
        download_dump("simplewiki", tmp_path, date="today", base_url=url)
