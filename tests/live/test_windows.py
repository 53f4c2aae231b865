# SPDX-License-Identifier: MIT
"""A long recording in windows: what they add up to, what is left of them after kill -9, and how much
of the disk they take."""

import contextlib
import json
import os
import shutil
import sqlite3
import time
from collections import Counter

from chains import Expectation
from harness import (DONE, PATIENCE, ROOT, SIGINT, SIGKILL, STACKCTL, Daemon, Recording, check, check_chains,
                     check_whole, live, record, run, scratch, wait_cpu, workload)
from test_tags import PLUGIN, needs_plugin

CHAIN = Expectation.of_source("chain")
SECOND = 10**9
# Windows take their time: programs run for a part of it, and are sampled at a rate that is as much higher.
SHARE, FREQUENCY = 0.2, 4987


def windows_of(store):
    result = run(STACKCTL, "list", "--json", "-i", store)
    check(result.status == DONE, "list: status %d" % result.status, result.err)
    return json.loads(result.out)["recordings"]


def stats_of(store, window):
    """Of one window, which can have no sample: the last one, where the run ended right after it began,
    or any where the machine did not get to the program."""
    return json.loads(run(STACKCTL, "stats", "--json", "-i", store, "--recording",
                          window["recording"]).out)


def check_window(store, window):
    """A window by itself: all that it should have is there, whole."""
    if window["samples"]:
        samples = check_whole(Recording(store, window["recording"]))
        check(len(samples) == window["samples"], "a window is not whole", window)
        return samples
    return []


def end_of(window):
    return window["start_unix_ns"] + window["duration_ns"]


def check_row(windows, length):
    """One run's windows, each but the first and last of that length, aligned, one after the other."""
    check(len({window["run"] for window in windows}) == 1, "not one run", windows)
    for window, after in zip(windows, windows[1:]):
        check(window["state"] == "done", "a closed window is not finished", window)
        check(after["recording"] == window["recording"] + 1, "numbers have gaps", windows)
        gap = after["start_unix_ns"] - end_of(window)
        check(abs(gap) < SECOND // 100, "%.3f s between windows" % (gap / SECOND), windows)
        check(after["start_unix_ns"] % length == 0, "a window is not aligned", after)


@live
def test_windows():
    """The windows of a run add up to it: every sample is in one, with its path, and --since finds
    them. The paths in a window that go on from the one before are whole."""
    with scratch() as folder, workload("chain", share=SHARE) as process:
        store = folder + "/s.db"
        with Daemon(store, "-F", FREQUENCY, "--window", "2s", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            while len(windows_of(store)) < 5:
                time.sleep(0.2)
            wait_cpu(process.pid, 0.5 * SHARE)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        windows = windows_of(store)
        check_row(windows, 2 * SECOND)
        numbers = "%d..%d" % (windows[0]["recording"], windows[-1]["recording"])
        check("recordings " + numbers in result.err, "the summary lacks them", result.err)
        whole = Recording(store, numbers)
        samples = check_whole(whole)
        check_chains(samples, CHAIN)
        check(len(samples) == sum(window["samples"] for window in windows), "samples are missing")
        folded, counters, ends = Counter(), Counter(), Counter()
        for window in windows:
            check_chains(check_window(store, window), CHAIN, at_least=0)
            if window["samples"]:
                folded.update(Recording(store, window["recording"]).folded())
            stats = stats_of(store, window)
            counters.update(stats["counters"])
            ends.update(stats["end_reasons"])
        stats = whole.stats()
        check(folded == Counter(whole.folded()), "paths do not add up")
        check(counters == Counter(stats["counters"]), "counters do not add up")
        check(ends == Counter(stats["end_reasons"]), "end reasons do not add up")
        count = stats["counters"]
        check(count["started"] == count["sent"] + count["lost_ring"] + count["idle"],
              "started samples are not accounted for", count)
        check(count["received"] >= len(samples) and not count["out_of_sequence"], "counters", count)
        since = run(STACKCTL, "stats", "--json", "-i", store, "--since", "10m")
        check(json.loads(since.out)["samples"] == len(samples), "--since lacks some", since.err)
        lines = run(STACKCTL, "list", "-i", store).out.splitlines()
        check(len(lines) == 2 and numbers in lines[1], "list shows more than the run", *lines)


@live
def test_windows_kill():
    """kill -9 between and within windows loses no closed one, and the next daemon's run follows."""
    with scratch() as folder, workload("chain", 600, share=SHARE) as process:
        store, known = folder + "/s.db", 0
        for wait in (0.1, 0.6, 1.1):
            with Daemon(store, "-F", FREQUENCY, "--window", "1s", "--pid", process.pid) as daemon:
                daemon.wait_recording()
                while len([w for w in windows_of(store) if w["state"] == "done"]) < known + 3:
                    check(daemon.process.poll() is None, "stackd ended")
                    time.sleep(0.1)
                time.sleep(wait)
                before = [w for w in windows_of(store) if w["state"] == "done"]
                daemon.finish(SIGKILL)
            after = {w["recording"]: w for w in windows_of(store)}
            for window in before:
                left = after.get(window["recording"])
                check(left == window, "a closed window has changed: %s, was %s" % (left, window))
                check_chains(check_window(store, window), CHAIN, at_least=0)
            check(max(after) == len(after), "numbers have gaps", after)
            known = len([w for w in after.values() if w["state"] == "done"])
        runs = {w["run"] for w in windows_of(store)}
        check(len(runs) == 3, "%d runs" % len(runs))
        check(len(run(STACKCTL, "list", "-i", store).out.splitlines()) == 4, "a line for each run")


@live(long=True)
def test_windows_clock():
    """Where the wall clock is set back a day, a window ends, and the next one has the new time: no
    sample is lost, and each is found by the time that the wall clock showed then."""
    with scratch() as folder, workload("chain", 60, share=SHARE) as process:
        store, shim = folder + "/s.db", folder + "/setback.so"
        result = run("gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", shim,
                     ROOT + "/tests/live/setback.c")
        check(result.status == DONE, "gcc", result.err)
        back = int(time.monotonic()) + 4
        with Daemon(store, "-F", FREQUENCY, "--window", "1h", "--pid", process.pid,
                    env={"LD_PRELOAD": shim, "STACKD_SETBACK": str(back)}) as daemon:
            daemon.wait_recording()
            deadline = time.monotonic() + PATIENCE
            while len(windows_of(store)) < 2 and time.monotonic() < deadline:
                time.sleep(0.2)
            wait_cpu(process.pid, 0.5 * SHARE)
            result = daemon.finish(SIGINT)
            check(result.status == DONE, "status %d" % result.status, result.err)
        windows = windows_of(store)
        # On the hour there is one window more; before the clock is set back, or after.
        check(2 <= len(windows) <= 3, "%d windows" % len(windows), windows)
        gaps = [after["start_unix_ns"] - end_of(before)
                for before, after in zip(windows, windows[1:])]
        torn = [i for i, gap in enumerate(gaps) if gap < -SECOND]
        check(len(torn) == 1, "windows set back", gaps)
        check(abs(gaps[torn[0]] + 86400 * SECOND) < SECOND, "by how much", gaps)
        whole = Recording(store, "%d..%d" % (windows[0]["recording"], windows[-1]["recording"]))
        samples = check_whole(whole)
        check_chains(samples, CHAIN)
        check(len(samples) == sum(window["samples"] for window in windows), "samples are missing")
        for window in windows:
            start = time.strftime("%F %T", time.localtime(window["start_unix_ns"] // SECOND))
            end = time.strftime("%F %T", time.localtime(end_of(window) // SECOND + 1))
            found = run(STACKCTL, "stats", "--json", "-i", store, "--from", start, "--to", end)
            check(found.status == DONE, "%s to %s" % (start, end), found.err)
            check(json.loads(found.out)["samples"] == window["samples"], "found by time", window)


@live(long=True)
def test_windows_tags():
    """What a tag means is learned once: the samples of later windows have their paths, too."""
    needs_plugin()
    with scratch() as folder:
        _, result = record(folder + "/s.db", "-F", 1997, "--window", "1s", "--",
                           os.path.join(PLUGIN, "chain"), 4)
        windows = windows_of(folder + "/s.db")
        check_row(windows, SECOND)
        check(len(windows) >= 3, "%d windows" % len(windows), result.err)
        total = Counter()
        for window in windows[1:]:
            count = stats_of(folder + "/s.db", window)["counters"]
            print(window["samples"], count["kernel_tags"], count["tags_learned"])
            check(not count["tags_unknown"], "unknown tags", count)
            total.update(samples=window["samples"], tags=count["kernel_tags"])
            if window["samples"]:
                check_chains(Recording(folder + "/s.db", window["recording"]).samples(), CHAIN,
                             at_least=0)
        # The kernel half counts what it sends: a window's first samples are the one's before it if
        # that is ended a little later.
        check(total["tags"] * 2 > total["samples"], "samples are walked again", total)


def size_of(store, window):
    """The bytes that a window takes: what a copy of the store has less without it."""
    shutil.copy(store, store + ".copy")
    with contextlib.closing(sqlite3.connect(store + ".copy")) as db:
        def content():
            pages, free, size = (db.execute("PRAGMA " + name).fetchone()[0] for name in
                                 ("page_count", "freelist_count", "page_size"))
            return (pages - free) * size
        before = content()
        for table in ("chunks", "objects", "processes", "threads", "counters"):
            db.execute("DELETE FROM %s WHERE recording=?" % table, (window["recording"],))
        db.commit()
        return before - content()


def disk_of(store):
    return sum(os.path.getsize(store + end) for end in ("", "-wal"))


@live(long=True)
def test_windows_retention():
    """Old windows are deleted while stackd runs, and their pages are used again: the store exceeds its
    limit by one window at most. What is left are the newest windows, each of them whole."""
    limit = 256 << 10
    with scratch() as folder, workload("recursion", 600, share=SHARE) as process:
        store, disk, looked = folder + "/s.db", 0, 0
        with Daemon(store, "-q", "-F", 4 * FREQUENCY, "--window", "2s", "--keep-bytes", limit, "--pid",
                    process.pid) as daemon:
            daemon.wait_recording()
            deadline = time.monotonic() + PATIENCE
            while not looked or windows_of(store)[0]["recording"] < 6:
                check(time.monotonic() < deadline, "nothing was deleted", disk)
                for _ in range(50):
                    disk = max(disk, disk_of(store))
                    time.sleep(0.04)
                looked += 1
            check(daemon.finish(SIGINT).status == DONE, "status")
        windows = windows_of(store)
        check_row(windows, 2 * SECOND)
        largest = max(size_of(store, window) for window in windows)
        print("limit", limit, "most", disk, "largest window", largest, "windows", len(windows))
        check(disk <= limit + largest, "%d bytes, limit %d, window %d" % (disk, limit, largest))
        check(disk > limit // 2, "only %d bytes: too much was deleted" % disk)
        for window in windows:
            check_window(store, window)
