"""Dumps from the Wikimedia site, or a mirror: resumed, checked, renamed when whole."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import httpx

from ssi_core import store
from ssi_core.types import BadInput, Progress, Refused

_ATTEMPTS = 5
_SPARE = 64 << 20
_TIMEOUT = httpx.Timeout(60.0, connect=20.0)
_AGENT = {"User-Agent": "ssi (learning to rank; downloads of public dumps)"}
_log = logging.getLogger(__name__)

T = TypeVar("T")


class _Interrupted(Exception):
    """The server, or the way to it, failed in a way that may pass; maybe after some bytes."""

    def __init__(self, reason: str, *, advanced: bool = False) -> None:
        super().__init__(reason)
        self.advanced = advanced


def _checked(response: httpx.Response, remedy: str) -> httpx.Response:
    status = response.status_code
    if status == 429 or status >= 500:
        raise _Interrupted(f"the server answered {status}")
    if status >= 400:
        raise BadInput(f"{response.url}: the server answered {status}. {remedy}")
    return response


def _persist(act: Callable[[], T], pause: float) -> T:
    """Repeat what was interrupted, with pauses of 1, 2, 4, ... times ``pause`` seconds.

    The count of failures starts anew whenever bytes arrived, so that a long download over a poor
    line ends as long as it gets on.
    """
    failures = 0
    while True:
        try:
            return act()
        except (_Interrupted, httpx.TransportError) as error:
            failures = 1 if getattr(error, "advanced", False) else failures + 1
            if failures >= _ATTEMPTS:
                raise Refused(
                    f"the download failed {failures} times in a row ({error}). Run the same "
                    "command again later: it goes on where it stopped."
                ) from error
            _log.warning("download interrupted (%s); trying again", error)
            time.sleep(pause * 2 ** (failures - 1))


def _checksum(client: httpx.Client, url: str, name: str) -> tuple[str, str]:
    """Return (file name, sha1) of the list of checksums; ``latest`` names files by their date."""
    remedy = "Check the name of the wiki, such as simplewiki, and the date, such as 20240601."
    response = _checked(client.get(url), remedy)
    pattern = re.compile(name)
    for line in response.text.splitlines():
        digest, _, file = line.strip().partition(" ")
        if pattern.fullmatch(file.strip()) and re.fullmatch("[0-9a-f]{40}", digest):
            return file.strip(), digest
    raise BadInput(f"{url}: it lists no {name}. The dump may not be finished; try another date.")


def _require_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed + _SPARE > free:
        raise Refused(
            f"{path}: {needed / 1e9:.2f} GB are to come, {free / 1e9:.2f} GB are free there. Make "
            "room, or name another directory."
        )


@contextlib.contextmanager
def _rest_of(client: httpx.Client, url: str, part: Path) -> Iterator[tuple[httpx.Response, int]]:
    """Open the rest of a file: yields the response and where its bytes begin."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", url, headers=headers) as response:
        # 416: nothing is left after what is there; the checksum tells whether it is right.
        if response.status_code == 416:
            yield response, have
            return
        _checked(response, "The dump may have been removed; try another date.")
        yield response, have if response.status_code == 206 else 0


def _fetch(client: httpx.Client, url: str, part: Path, progress: Progress | None) -> None:
    """Fetch what is missing of a file."""
    with _rest_of(client, url, part) as (response, start):
        if response.status_code == 416:
            return
        length = response.headers.get("Content-Length")
        missing = int(length) if length is not None else 0
        _require_space(part, missing)
        position = start
        try:
            with part.open("r+b" if start else "wb") as file:
                file.seek(start)
                for block in response.iter_raw():
                    file.write(block)
                    position += len(block)
                    if progress is not None and missing:
                        done = position / (start + missing)
                        progress(done, f"{position / 1e6:.1f} of {(start + missing) / 1e6:.1f} MB")
        except httpx.TransportError as error:
            raise _Interrupted(str(error), advanced=position > start) from error
        if position < start + missing:
            reason = f"{start + missing - position} bytes are missing"
            raise _Interrupted(reason, advanced=position > start)


def _sha1(path: Path) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def download_dump(
    wiki: str,
    directory: Path,
    *,
    date: str = "latest",
    base_url: str = "https://dumps.wikimedia.org",
    pause: float = 1.0,
    progress: Progress | None = None,
) -> Path:
    """Fetch ``pages-articles.xml.bz2`` of a wiki; returns its path.

    The file grows as ``.part``: a call after an interruption goes on from there. It gets its name
    when its sha1 is the one that the site lists. A file that is there, and right, isn't fetched.

    Parameters
    ----------
    wiki : str
        Name of a wiki's database, such as ``simplewiki``.
    directory : Path
        Where the file goes.
    date : str
        ``YYYYMMDD`` or ``latest``.
    base_url : str
        The site or a mirror of it.
    pause : float
        Seconds before the second attempt, doubled for each further one.

    Raises
    ------
    BadInput
        There is no such dump, or its checksum is wrong (the file is removed then).
    Refused
        The disk is too small, or the line failed several times in a row.
    """
    if not re.fullmatch("[a-z][a-z0-9_]*", wiki):
        raise ValueError(f"wiki={wiki!r}, expected a name such as 'simplewiki'")
    if not re.fullmatch("latest|[0-9]{8}", date):
        raise ValueError(f"date={date!r}, expected YYYYMMDD or 'latest'")
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    folder = f"{base_url.rstrip('/')}/{wiki}/{date}"
    dated = "(?:latest|[0-9]{8})" if date == "latest" else date
    name = rf"{wiki}-{dated}-pages-articles\.xml\.bz2"
    with (
        store.locked(directory / f"{wiki}-{date}"),
        httpx.Client(timeout=_TIMEOUT, headers=_AGENT, follow_redirects=True) as client,
    ):
        sums = f"{folder}/{wiki}-{date}-sha1sums.txt"
        file, digest = _persist(lambda: _checksum(client, sums, name), pause)
        path = directory / file
        if path.exists() and _sha1(path) == digest:
            return path
        part = path.with_name(path.name + ".part")
        url = f"{folder}/{wiki}-{date}-pages-articles.xml.bz2"
        _persist(lambda: _fetch(client, url, part, progress), pause)
        actual = _sha1(part)
        if actual != digest:
            part.unlink()
            raise BadInput(
                f"{part}: sha1 is {actual}, the site lists {digest}. The file is removed; run the "
                "same command again."
            )
        part.rename(path)
        return path
