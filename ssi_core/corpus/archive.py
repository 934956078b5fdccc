"""Files of a published collection, in a folder or in a tar archive of any packing."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ssi_core.corpus import inputs
from ssi_core.corpus.tree import tell_left_out, walk
from ssi_core.strict import cut
from ssi_core.types import BadInput

_RESTORE = "Restore the published archive."
_LARGEST_NAME = 1 << 20
_NAMES = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class _Member(tarfile.TarInfo):
    """A member whose name and attributes are bounded: tarfile reads them at once."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _NAMES and self.size > _LARGEST_NAME:
            raise tarfile.ReadError("a member has a name of more than 1 MiB")
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return member


def _members(path: Path, remedy: str) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    inputs.require_file(path)
    try:
        with (
            inputs.open_input(path, remedy) as stream,
            tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive,
        ):
            while (member := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined]
                yield archive, member
    except tarfile.TarError as error:
        raise BadInput(f"{path}: {error}. {remedy}") from None


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bytes:
    if member.size > (most := inputs.LARGEST_WHOLE):
        raise BadInput(
            f"{path}: the member {cut(member.name)!r} has more than {most >> 20} MiB. Unpack the "
            "archive, and name the folder."
        )
    file = archive.extractfile(member)
    return b"" if file is None else file.read()


def read_members(path: Path, pattern: re.Pattern[str], kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield (group 1 of the pattern, content) of each file of a tar archive, in its order.

    Nothing is unpacked to disk. ``kind`` tells in a message what the pattern asks for.

    Raises
    ------
    BadInput
        The archive is missing or damaged, or has a member of another kind.
    """
    for archive, member in _members(path, _RESTORE):
        if member.isdir():
            continue
        name = pattern.fullmatch(member.name)
        if name is None or not member.isfile():
            raise BadInput(f"{path}: the member {cut(member.name)!r} isn't {kind}. {_RESTORE}")
        yield name[1], _content(archive, member, path)


def read_matching(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the match of the name, and the content, of each file whose name the pattern matches.

    Names are relative to the folder or the archive, with ``/``; a folder is read by sorted names,
    an archive in its order. Nothing is unpacked to disk. The log tells what was left out although
    its name could match: links that lead out, pipes, what is hidden.

    Raises
    ------
    BadInput
        The path is missing, or the archive is damaged.
    """
    skipped: Counter[str] = Counter()
    if path.is_dir():
        for file in walk(path, skipped):
            name = pattern.fullmatch(file.relative_to(path).as_posix())
            if name:
                yield name, inputs.read_input(file, inputs.DOWNLOAD, packed=False)
        tell_left_out(path, skipped)
        return
    if not path.exists():
        raise BadInput(f"{path}: there is no such file or folder. Check the path.")
    for archive, member in _members(path, inputs.DOWNLOAD):
        name = pattern.fullmatch(member.name.removeprefix("./"))
        if name and member.isfile():
            yield name, _content(archive, member, path)
        elif name:
            skipped["member_not_regular"] += 1
    tell_left_out(path, skipped)
