"""Commands on a terminal of their own, and all that its screen showed."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import termios
import threading

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
    """Lines of a terminal that knows the orders of progress bars: it grows, and never scrolls."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def put(self, text):
        for sign in text:
            if sign == "\r":
                self.column = 0
            elif sign == "\n":
                self.row, self.column = self.row + 1, 0
            else:
                if self.column == COLUMNS:
                    self.row, self.column = self.row + 1, 0
                self._line()
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + sign + line[self.column + 1 :]
                self.column += 1
            self._line()

    def obey(self, number, order):
        many = int(number) if number.isdigit() else 1
        if order == "A":
            self.row = max(0, self.row - many)
        elif order == "K":
            line = self.lines[self.row]
            self.lines[self.row] = "" if number == "2" else line[: self.column]
        elif order not in "mhl":
            raise AssertionError(f"an order that the screen does not know: {number}{order}")

    def _line(self):
        self.lines += [""] * (self.row + 1 - len(self.lines))

    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


def shown_by(command, *, cwd, env):
    """Exit code of a command, and each state of the screen that it is shown on."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(cwd)
        os.execvpe(command[0], command, {**env, "TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    screen, states, left = Screen(), [], b""
    while True:
        select.select([terminal], [], [])
        try:
            read = os.read(terminal, 1 << 16)
        except OSError:  # the command has ended
            break
        left = _written(screen, left + read)
        if not states or states[-1] != screen.text():
            states.append(screen.text())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), states


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
