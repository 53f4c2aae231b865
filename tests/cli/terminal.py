# SPDX-License-Identifier: MIT
"""terminal.py STACKCTL STORE MAKE_STORE: the store has the recordings small, hostile and small."""

import itertools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from screen import Screen

STACKCTL, STORE, MAKE_STORE = sys.argv[1:]
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]")
# What a command that has had no CPU for a second shows, and takes away before it writes anything else.
PROGRESS = re.compile(rb"(\rstackctl: \w+: \d+ s)+(\r\x1b\[K|\r?\n)")


def shown(*words, env=None, columns=80, rows=24):
    """(status, bytes) of a command on a terminal, without progress."""
    screen = Screen([STACKCTL, *words, "-i", STORE], columns, rows, env)
    status = screen.finish()
    return status, PROGRESS.sub(b"", screen.raw)


def colours_and_pager():
    cat = {"PAGER": "cat"}
    status, text = shown("report", env=cat)
    assert status == 0 and b"\x1b[1m" in text and b"app::work" in text, text
    for words, env in ((["--no-color"], cat), (["--stdio"], {}), (["--color=never"], cat),
                       ([], {**cat, "NO_COLOR": "1"}), ([], {**cat, "TERM": "dumb"})):
        status, text = shown("report", *words, env=env)
        assert status == 0 and b"\x1b" not in text and b"app::work" in text, (words, env, text)
    # A pager gets all of it, with its options; less's are such that it lets colours through.
    with tempfile.TemporaryDirectory() as folder:
        pager = {"STACKCTL_PAGER": "cat >%s/paged; echo $LESS >>%s/paged" % (folder, folder)}
        status, text = shown("report", env=pager)
        with open(folder + "/paged", encoding="utf-8") as file:
            paged = file.read()
        assert status == 0 and "app::work" in paged and "FRSX" in paged, paged
        assert b"app::work" not in text, text
        status, text = shown("report", "--no-pager", env=pager)
        assert status == 0 and b"app::work" in text, text
        os.unlink(folder + "/paged")
        status, text = shown("report", "--json", env=pager)
        assert status == 0 and b'"schema"' in text and not os.listdir(folder), text
    # Leaving a pager early is no error; nor is a missing pager.
    status, _ = shown("report", env={"PAGER": "head -n 1"})
    assert status == 0, status
    status, _ = shown("report", env={"PAGER": "true"})
    assert status == 0, status
    # Off a terminal there is none of it, unless it is asked for.
    plain = subprocess.run([STACKCTL, "report", "-i", STORE], stdout=subprocess.PIPE, check=True,
                           env={**os.environ, "PAGER": "false", "TERM": "xterm"}).stdout
    assert b"\x1b" not in plain and b"app::work" in plain, plain
    plain = subprocess.run([STACKCTL, "report", "--color", "-i", STORE], stdout=subprocess.PIPE,
                           check=True).stdout
    assert b"\x1b[1m" in plain, plain


# Formats of several files, which are never written to a terminal.
WRITES_FILES = ("parquet", "paraver")


def binary():
    """Text formats are written to a terminal; binary ones are refused with the reason."""
    asked = subprocess.run([STACKCTL, "export"], stderr=subprocess.PIPE, text=True, check=False)
    formats = re.findall(r"--([a-z-]+)", asked.stderr.splitlines()[0])
    assert {"pprof", "folded", "json"} <= set(formats), asked
    for name in formats:
        if name in WRITES_FILES:
            continue
        data = subprocess.check_output([STACKCTL, "export", "--" + name, "-i", STORE])
        is_binary = bool(re.search(rb"[^\t\n -\x7e\x80-\xff]|\xff", data))
        assert is_binary == (name in ("pprof", "perfetto")), (name, data)
        status, text = shown("export", "--" + name)
        assert status == (2 if is_binary else 0), (name, status)
        assert is_binary == (b"is a binary format" in text), (name, text)
    status, text = shown("export", "--pprof", "-o", "-")
    assert status == 2 and b"-o FILE" in text, (status, text)
    with tempfile.TemporaryDirectory() as folder:
        status, text = shown("export", "--pprof", "-o", folder + "/x")
        assert status == 0 and not text and os.path.getsize(folder + "/x"), (status, text)


def rows_of_a_screen():
    """Of 24 lines, 18 are of the result; a heading is written once, and all in a pipe."""
    status, text = shown("report", "--no-pager", "--recording", "1")
    lines = ESCAPES.sub(b"", text).decode().replace("\r", "").split("\n")[:24]
    assert status == 0 and sum("call path from the root down" in line for line in lines) == 1, lines
    heads = [i for i, line in enumerate(lines) if line.startswith("# process")]
    of_head = lines[:heads[0]] + [line for line in lines[heads[0]:] if line.startswith("# ") and not line.startswith("# process")]
    assert len(heads) >= 2 and 24 - len(of_head) >= 18, lines
    piped = subprocess.run([STACKCTL, "report", "-i", STORE, "--recording", "1"], check=True, stdout=subprocess.PIPE).stdout
    assert piped.count(b"call path from the root down") == len(heads), piped


def narrow():
    for columns in (20, 1, 7):
        for words in (["report"], ["report", "--view", "flat"], ["report", "--view", "callers"],
                      ["report", "--view", "time"], ["report", "--recording", "2"]):
            status, text = shown(*words, env={"PAGER": "cat"}, columns=columns)
            assert status == 0, (status, words)
            for line in ESCAPES.sub(b"", text).decode().split("\r\n"):
                *progress, line = line.split("\r")  # of a busy machine
                assert all(len(part) < max(columns, 2) for part in progress), (columns, progress)
                assert len(line) <= columns or line.startswith("# "), (columns, line)


def narrow_figures():
    """What stats and heap say fits into 80 columns."""
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/heap.db"
        subprocess.run([MAKE_STORE, store, "heap", "metrics"], check=True)
        for recording, words in (("1", ["heap"]), ("1", ["heap", "--leaks"]), ("1", ["stats"]), ("2", ["stats"])):
            screen = Screen([STACKCTL, *words, "-i", store, "--recording", recording], 80, 24, {"PAGER": "cat"})
            status = screen.finish()
            lines = ESCAPES.sub(b"", PROGRESS.sub(b"", screen.raw)).decode().replace("\r", "").split("\n")
            assert status == 0 and len(lines) > 4, (words, lines)
            heads = itertools.takewhile(bool, lines)  # behind an empty line come reports
            assert all(len(line) <= 80 for line in heads), (words, lines)


def resize(screen):
    for columns, rows in ((20, 6), (1, 1), (200, 60), (80, 24)):
        screen.resize(columns, rows)
        screen.send("r")
        screen.wait(lambda lines, n=columns: lines[0] and lines[0].startswith("recording 3"[:n]),
                    "redrawn at %dx%d" % (columns, rows))


def top():
    screen = Screen([STACKCTL, "top", "--window", "0", "-i", STORE])
    screen.wait_for("app::work")
    screen.wait(lambda lines: "[1 functions]" in lines[2] and "q quit" in lines[23], "the frame")
    lines = screen.lines()
    assert "100 samples" in lines[1] and "(ended)" in lines[0], lines
    assert re.match(r"\s+61.0%\s+61.0%\s+prog\s+app::work\(\)  \[prog\]", lines[5]), lines[5]
    screen.send("2")
    screen.wait_for("[2 paths]")
    screen.wait_for("- _start")
    screen.send("\x1b[B\x1b[D")  # down, left: main is closed
    screen.wait(lambda lines: any("+ main" in line for line in lines) and
                not any("libx" in line for line in lines), "main is closed")
    screen.send("\r")
    screen.wait_for("- main")
    screen.wait_for("libx.so+0x50")
    screen.send("3")
    screen.wait_for("[3 callers]")
    screen.wait(lambda lines: any(re.search(r"61.0%  - app::work\(\)", l) for l in lines), "callers")
    screen.send("1")
    screen.wait_for("[1 functions]")
    screen.send("s")
    screen.wait_for("by total")
    screen.send("s")
    screen.wait_for("by waits")
    screen.send("N")
    screen.wait_for("by name")
    screen.wait(lambda lines: "[incomplete" in lines[5], "sorted by name")
    screen.send(" ")
    screen.wait_for("PAUSED")
    screen.send(" ")
    screen.wait(lambda lines: not any("PAUSED" in line for line in lines), "goes on")
    # Into a process, and out of it again.
    screen.send("4R")  # by number, reversed: 99 comes first
    screen.wait_for("reversed")
    screen.wait(lambda lines: "99 other" in lines[5] and "12 prog" in lines[6], "sorted by number")
    screen.send("\r")
    screen.wait_for("; process 99 other")
    screen.wait_for("20 samples")
    screen.wait_for("do_sys")
    screen.send("\x7f")
    screen.wait_for("[4 processes]")
    screen.wait_for("100 samples")
    # From a function to its callers.
    screen.send("RP1")
    screen.wait_for("by self")
    screen.send("\r")
    screen.wait_for("[3 callers]")
    screen.send("h")
    screen.wait_for("Backspace")
    screen.send("h")
    screen.wait(lambda lines: not any("Backspace" in line for line in lines), "help is gone")
    resize(screen)
    screen.send("q")
    assert screen.finish() == 0


def top_waits():
    """Waits are beside the CPU time, of functions and of processes."""
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/waits.db"
        subprocess.run([MAKE_STORE, store, "waits"], check=True)
        screen = Screen([STACKCTL, "top", "--window", "0", "-i", store])
        screen.wait_for("[1 functions]")
        screen.send("4W")
        screen.wait(lambda lines: re.match(r"\s+80.0%\s+70.000 ms\s+12 prog", lines[5]) and
                    re.match(r"\s+20.0%\s+-\s+99 other", lines[6]), "waits of processes")
        screen.send("P5")
        screen.wait(lambda lines: "[5 units]" in lines[2] and "unit " in lines[5] and "100.0%" in lines[5], "units")
        screen.send("6")
        screen.wait_for("[6 containers]")
        screen.send("q")
        assert screen.finish() == 0


def top_metric():
    """Top by another metric: its amount, and shares of that."""
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/metrics.db"
        subprocess.run([MAKE_STORE, store, "metrics"], check=True)
        waits = folder + "/waits.db"
        subprocess.run([MAKE_STORE, waits, "waits"], check=True)
        for metric, amount, share in (("region.time", "10.000 ms", "60.0%"),
                                      ("region.visits", "4 instances", "75.0%"),
                                      ("region.cpu", "4.500 ms", "100.0%"),
                                      ("wall", "170.301 ms", "72.9%")):
            store = waits if metric == "wall" else folder + "/metrics.db"
            screen = Screen([STACKCTL, "top", "--window", "0", "--metric", metric, "-i", store])
            screen.wait_for_match(re.escape(share) + r".*app::work\(\)")
            assert any(amount in line for line in screen.lines()), screen.lines()
            screen.send("q")
            assert screen.finish() == 0
    status, text = shown("top", "--metric", "tine")
    assert status == 2 and b"there are cpu" in text, (status, text)
    status, text = shown("top", "--metric", "wall")
    assert status == 3 and b"has no waits" in text, (status, text)


def top_otherwise():
    # Names that try to break out, on a terminal of 20 columns.
    screen = Screen([STACKCTL, "top", "--window", "0", "--recording", "2", "-i", STORE], 20, 10,
                    {"TERM": "xterm"})
    screen.wait_for("evil")
    assert b"\x1b]0;" not in screen.raw and b"\a" not in screen.raw, screen.raw
    screen.send("\x03")
    assert screen.finish() == 0
    assert b"\x1b[?1049l" in screen.raw, "the terminal is not as it was"
    # A store whose first recording is about to come is waited for.
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(STORE, folder + "/s.db")
        store = sqlite3.connect(folder + "/s.db")
        store.execute("DELETE FROM recordings")
        store.commit()
        store.close()
        screen = Screen([STACKCTL, "top", "-i", folder + "/s.db"])
        screen.wait_for("no recording yet")
        screen.send("q")
        assert screen.finish() == 0
    # Views that cannot be shown, and a missing terminal, are errors.
    status, text = shown("top", "--recording", "9")
    assert status == 2 and b"no such recording" in text, text
    status, text = shown("top", env={"TERM": "no-such-terminal"})
    assert status == 2 and b"set TERM" in text, (status, text)
    done = subprocess.run([STACKCTL, "top", "-i", STORE], stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"needs a terminal" in done.stderr and not done.stdout, done


def read_until(file, pattern):
    """Reads until the pattern was written; False if the file ends before."""
    text = b""
    while not re.search(pattern, text):
        data = os.read(file.fileno(), 4096)
        if not data:
            return False
        text += data
    return True


def progress():
    """An operation of more than a second shows its progress on a terminal: here, waiting for its
    reader."""
    with tempfile.TemporaryDirectory() as folder:
        fifos = [folder + "/%d" % i for i in range(4)]
        for fifo in fifos:
            os.mkfifo(fifo)
        quiet = [Screen([STACKCTL, "report", "--no-progress", "-i", STORE, "-o", fifos[0]]),
                 Screen([STACKCTL, "stats", "-i", STORE, "-o", fifos[1]])]
        apart = [subprocess.Popen([STACKCTL, "report", *words, "-i", STORE, "-o", fifo],
                                  stderr=subprocess.PIPE)
                 for words, fifo in (([], fifos[2]), (["--progress"], fifos[3]))]
        importing = Screen([STACKCTL, "import", "-o", folder + "/new.db", "-"])
        # A busy machine may skip a second, so any number of them is waited for.
        quiet[1].wait_for_match(r"stackctl: writing: [1-9]\d* s")
        importing.wait_for_match(r"stackctl: importing: [1-9]\d* s")
        said = read_until(apart[1].stderr, rb"stackctl: writing: [1-9]\d* s")
        for fifo in fifos:
            with open(fifo, "rb") as file:
                assert file.read()
        assert quiet[0].finish() == 0 and not quiet[0].raw, quiet[0].raw
        assert quiet[1].finish() == 0 and not any(quiet[1].lines()), quiet[1].lines()
        errors = [process.communicate()[1] for process in apart]
        assert errors[0] == b"" and said, errors
        importing.send("\x04")
        assert importing.finish() == 2
        assert "importing" not in importing.lines()[0], importing.lines()


colours_and_pager()
binary()
rows_of_a_screen()
narrow()
narrow_figures()
progress()
top()
top_waits()
top_metric()
top_otherwise()
