"""Write a manifest anew, after a test has changed the files of a finished directory."""

import json
from pathlib import Path

import numpy as np

from ssi_core import integrity, store
from ssi_core.types import BadInput
from tests.robust.tally import attempt


def reseal(directory, manifest=store.MANIFEST, **facts):
    """Seal a directory as it is now, with some facts of its manifest changed (None: removed)."""
    path = Path(directory) / manifest
    known = json.loads(path.read_text(encoding="utf-8")) | facts
    for name in [name for name, fact in facts.items() if fact is None]:
        known.pop(name, None)
    known.pop("files"), known.pop("digest")
    integrity.seal_directory(path.parent, manifest, known, durable=False)


def accepted(directory, manifest, load, specs):
    """Return what is loaded although an array is not as it is declared, or is not named then.

    Each array is replaced in turn, and the digests are made right again.

    Parameters
    ----------
    specs : mapping
        Path of a file within the directory, without ".npy" -> declaration of its array.
    """
    wrong = []
    for name, spec in specs.items():
        file = directory / f"{name}.npy"
        whole = file.read_bytes()
        for what, array in misfits(spec, np.load(file)):
            np.save(file, array)
            if manifest is not None:
                reseal(directory, manifest)
            said = _refusal(load, directory)
            # The three arrays of a matrix are opened together.
            places = f"{directory / name}.npy: ", f"{(directory / name).parent}: "
            if not said.startswith(places) or "again" not in said:
                wrong.append((name, what, said))
        file.write_bytes(whole)
    if manifest is not None:
        reseal(directory, manifest)
    load(directory)
    return wrong


def _refusal(load, directory):
    try:
        with attempt("resealed directories"):
            load(directory)
    except BadInput as error:
        return str(error)
    return ""


def misfits(spec, array):
    """Yield what can be wrong with an array, and an array that is not as it is declared."""
    yield "another axis", array[None]
    if array.dtype.kind == "U":
        yield "dtype", np.arange(len(array))
        return
    yield "dtype", array.astype(np.complex64)
    if array.itemsize > 1:
        yield "byte order", array.astype(array.dtype.newbyteorder("S"))
    if "|" not in spec.dtype and array.dtype.kind != "b":
        size = {4: 8, 8: 4, 2: 4, 1: 2}[array.itemsize]
        yield "size of numbers", array.astype(f"{array.dtype.kind}{size}")
    if array.dtype.kind == "f":
        yield "NaN", _with(array, np.nan)
        yield "infinity", _with(array, -np.inf)
    if not isinstance(spec.shape[0], str):
        yield "one more", np.concatenate([array, array[-1:]])
        yield "none", array[:0]
    if spec.offsets is not None:
        yield "offsets beyond the end", array + np.arange(len(array), dtype=array.dtype)
        yield "offsets that fall", _with(array, array[-1] + 1, place=len(array) // 2)
        yield "negative offsets", _with(array, -1)
    if spec.order != "any":
        yield "order", array[::-1]
    if spec.index is not None:
        yield "a negative row", _with(array, -1)
        yield "a row far beyond the end", _with(array, np.iinfo(array.dtype).max)
    for bound, step in ((spec.least, -1), (spec.most, 1)):
        last = np.ravel(bound)[-1]
        if np.isfinite(last):
            yield "out of its bounds", _with(array, last + step, place=-1)


def _with(array, value, place=0):
    other = array.copy()
    other.flat[place] = value
    return other
