"""Commands on a terminal of their own, and all that its screen showed."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time

COLUMNS, LINES = 80, 24
_ORDER = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])|\x1b.")


def stripped(text):
    """What a terminal shows of a text, each frame anew: without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")


class Terminal(io.StringIO):
    """What is written on it, and an event once a text has been."""

    def __init__(self, wanted=""):
        super().__init__()
        self.wanted, self.written = wanted, threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        size = super().write(text)
        if self.wanted in stripped(self.getvalue()):
            self.written.set()
        return size


class Screen:
    """Lines of a terminal that knows the orders of progress bars: it grows, and never scrolls.

    ``wide`` holds the first rows of lines that are wider than the terminal.
    """

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0
        self.begin, self.wide = 0, set()

    def put(self, text):
        for sign in text:
            if sign == "\r":
                self.column = 0
            elif sign == "\n":
                self.row, self.column = self.row + 1, 0
                self.begin = self.row
            else:
                if self.column == COLUMNS:
                    self.row, self.column = self.row + 1, 0
                    self.wide.add(self.begin)
                self._line()
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + sign + line[self.column + 1 :]
                self.column += 1
            self._line()

    def obey(self, number, order):
        many = int(number) if number.isdigit() else 1
        if order == "A":
            self.row = self.begin = max(0, self.row - many)
        elif order == "K":
            line = self.lines[self.row]
            self.lines[self.row] = "" if number == "2" else line[: self.column]
        elif order not in "mhl":
            raise AssertionError(f"an order that the screen does not know: {number}{order}")

    def _line(self):
        self.lines += [""] * (self.row + 1 - len(self.lines))

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


class Session:
    """A command that a person starts on a terminal, and all that its screen shows meanwhile.

    Attributes
    ----------
    states : list of str
        Each state of the screen.
    silence : float
        The longest time in which the command wrote nothing, in seconds.
    """

    def __init__(self, command, *, cwd, env, pass_fds=()):
        self._terminal, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.screen, self.states, self.silence = Screen(), [], 0.0
        self._last = time.monotonic()
        self.process = subprocess.Popen(
            command, cwd=cwd, env={**env, "TERM": "xterm"}, stdin=end, stdout=end, stderr=end,
            pass_fds=pass_fds, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(end)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def text(self):
        """Return what the screen shows."""
        return self.screen.text()

    def heard(self):
        """Take the time of silence until now into account."""
        now = time.monotonic()
        self.silence, self._last = max(self.silence, now - self._last), now

    def interrupt(self):
        """Press Ctrl-C."""
        with contextlib.suppress(OSError):
            os.write(self._terminal, b"\x03")

    def read_to_the_end(self, timeout=None):
        """Wait until all that was written has been read, where the command is about to end."""
        self._reader.join(timeout)

    def ended(self, timeout=None):
        """Return the exit code of the command, once it has ended and all of it was read."""
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def _read(self):
        left = b""
        with contextlib.closing(os.fdopen(self._terminal, "rb", 0, closefd=True)) as terminal:
            while True:
                try:
                    read = terminal.read(1 << 16)
                except OSError:  # the command, and whatever it started, has ended
                    return
                self.heard()
                left = _written(self.screen, left + read)
                if not self.states or self.states[-1] != self.text():
                    self.states.append(self.text())


def shown_by(command, *, cwd, env):
    """Exit code of a command, and each state of the screen that it is shown on."""
    session = Session(command, cwd=cwd, env=env)
    return session.ended(), session.states


def _written(screen, data):
    """Write what came on a screen; return the part of an order, or of a letter, at its end."""
    last = 0
    for order in _ORDER.finditer(data):
        screen.put(data[last : order.start()].decode())
        if order[2]:
            screen.obey(order[1].decode().lstrip("?"), order[2].decode())
        last = order.end()
    rest = data[last:]
    whole = rest if b"\x1b" not in rest else rest[: rest.index(b"\x1b")]
    for cut in range(4):
        try:
            screen.put(whole[: len(whole) - cut].decode())
        except UnicodeDecodeError:
            continue
        return rest[len(whole) - cut :]
    raise AssertionError(f"no text: {whole!r}")
