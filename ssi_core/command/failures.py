"""What an error is called, what a person is told of it, and the exit code of the command."""

from __future__ import annotations

from ssi_core.errors import chain_of

DONE, FAILED, USAGE, BAD_INPUT, REFUSED = 0, 1, 2, 3, 4

WORKFLOW = (
    "The workflow runs from a checkout of the project, with the packages of pip install "
    "'ssi[workflow]'."
)
"""Sentence that names the extra for verbs outside of the library."""


def kind_of(error: BaseException) -> tuple[str, int]:
    """Return the kind and the exit code of an error, looking through those that wrap another."""
    from ssi_core.types import BadInput, Refused

    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, BadInput):
            return "bad input", BAD_INPUT
        if isinstance(seen, Refused | MemoryError):
            return "refused", REFUSED
        seen = seen.__cause__
    if any(map(_no_thread, chain_of(error))):
        return "refused", REFUSED
    return "failed", FAILED


def message_of(error: BaseException) -> str:
    """Return what a person is told of an error, on one line."""
    from ssi_core.types import BadInput, Refused

    text = " ".join(str(error).split())
    if isinstance(error, BadInput | Refused) and text:
        return text
    for seen in chain_of(error):
        if isinstance(seen, MemoryError) or _no_thread(seen):
            return out_of_memory(seen)
    if isinstance(error, ModuleNotFoundError):
        text = f"{text}. {WORKFLOW}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _no_thread(error: BaseException) -> bool:
    """Tell whether no thread could be started, for want of addresses for what it needs."""
    return isinstance(error, RuntimeError) and str(error) == "can't start new thread"


def out_of_memory(error: BaseException) -> str:
    """Return what a person is told where memory is used up."""
    text = " ".join(str(error).split())
    if text.startswith("ulimit "):
        return text
    reason = f" ({text.rstrip('.')})" if text else ""
    return (
        f"memory is used up{reason}. Close other programs, raise what bounds it, or take less data."
    )
