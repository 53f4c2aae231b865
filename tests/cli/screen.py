# SPDX-License-Identifier: MIT
"""A program on a terminal: a pty, and pyte that keeps what its screen shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

try:
    import pyte
except ImportError:
    print("python3-pyte is not installed")
    sys.exit(77)

# The limit for an expected event: only a failing test waits that long.
PATIENCE_S = 600


class Screen:
    def __init__(self, command, columns=80, rows=24, env=None):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # The child sets the size itself: it must not start before it has it. TERM is what
            # pyte emulates: Linux's console.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            base = {"PATH": os.environ["PATH"], "TERM": "linux", "LC_ALL": "C.UTF-8"}
            os.execvpe(command[0], command, {**base, **(env or {})})

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)
        os.kill(self.pid, signal.SIGWINCH)

    def send(self, text):
        os.write(self.fd, text.encode())

    def _read(self, timeout):
        """False at the end of the output."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def lines(self):
        return [line.rstrip() for line in self.screen.display]

    def wait(self, condition, what):
        """Until condition(lines) holds."""
        end = time.monotonic() + PATIENCE_S
        while not condition(self.lines()):
            if time.monotonic() > end or not self._read(0.2):
                if condition(self.lines()):
                    return
                self.close()
                raise AssertionError("never: %s; the screen:\n%s" % (what, "\n".join(self.lines())))

    def wait_for(self, text):
        self.wait(lambda lines: any(text in line for line in lines), repr(text))

    def wait_for_match(self, pattern):
        self.wait(lambda lines: any(re.search(pattern, line) for line in lines), repr(pattern))

    def finish(self):
        """Reads to the end; the exit status (negative: the signal that ended it)."""
        end = time.monotonic() + PATIENCE_S
        while self._read(0.2):
            if time.monotonic() > end:
                self.close()
                raise AssertionError("did not end; the screen:\n" + "\n".join(self.lines()))
        return self.close()

    def close(self):
        if self.status is None:
            os.close(self.fd)
            end = time.monotonic() + PATIENCE_S
            pid, status = 0, 0
            while not pid and time.monotonic() < end:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if not pid:
                    time.sleep(0.02)
            if not pid:
                os.kill(self.pid, signal.SIGKILL)
                _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
        return self.status
