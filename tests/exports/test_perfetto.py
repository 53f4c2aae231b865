# SPDX-License-Identifier: MIT
"""Perfetto traces: the format, and every number against those of the JSON export and the reports."""

import collections
import json

import perfetto
from common import STACKCTL, STORES, check, export, exports, report, run

STANDS_FOR = "stands for ns"


def trace(kind, *options):
    path = export(STORES.get(kind), "perfetto", *options)
    try:
        return perfetto.Trace(path)
    except (perfetto.Bad, perfetto.wire.Malformed, KeyError, UnicodeDecodeError) as bad:
        return check(False, "%s: %r" % (path, bad))


def safe(text):
    """As exports write a name: what is unsafe to print is escaped. (JSON escapes bytes that are not UTF-8 alike.)"""
    def is_unsafe(code):
        return code < 0x20 or 0x7f <= code < 0xa0 or 0x2028 <= code <= 0x202e or 0x2066 <= code <= 0x2069
    return "".join("".join("\\x%02x" % byte for byte in c.encode()) if is_unsafe(ord(c)) else c for c in text)


def exported(kind, *options):
    """Of --json: [((pid, tid, comm), path, samples, weight)]; a path is of (name, object, offset, file, line)."""
    data = json.loads(run(STACKCTL, "export", "--json", "-i", STORES.get(kind), *options))
    frames, paths, rows = [], [], []
    for frame in data["frames"]:
        name = safe(data["symbols"][frame["symbol"]]["name"])
        place = ((safe(data["objects"][frame["object"]]["path"]), frame["offset"]) if "object" in frame
                 else ("[stackd]", frame["symbol"]))
        frames.append((name, *place, safe(frame["file"]) if "file" in frame else None, frame.get("line", 0)))
    for parent, frame in data["stacks"]:
        paths.append((parent, frames[frame]))
    for entry in data["entries"]:
        thread, at, path = data["threads"][entry["thread"]], entry["stack"], []
        while at >= 0:
            at, frame = paths[at]
            path.append(frame)
        rows.append(((thread["pid"], thread["tid"], safe(thread["comm"])), tuple(reversed(path)), entry["samples"],
                     entry["weight"]))
    return rows


def path_of(stack):
    return tuple((f.name, f.path, f.pc, f.source, f.line) for f in stack)


def same(got, wanted, *what):
    check(got == wanted and wanted, " ".join(map(str, what)), list((got - wanted).items())[:3],
          list((wanted - got).items())[:3])


def check_samples(kind, *options):
    wanted, rows, got = collections.Counter(), exported(kind, *options), trace(kind, *options)
    for (pid, tid, _), path, samples, _ in rows:
        wanted[pid, tid, path] += samples
    stacks = collections.Counter((pid, tid, path_of(stack)) for pid, tid, _, stack in got.samples)
    same(stacks, wanted, "samples of", kind)
    check({thread for thread, *_ in rows} <= got.threads, "threads of " + kind, got.threads)
    return got


@exports
def test_perfetto_samples():
    """Stacks, frame for frame, also with names that no one would choose, and of ten thousand frames."""
    for kind in ("small", "hostile", "names", "inferred", "managed", "namesakes", "metrics", "waits", "wakers", "heap",
                 "deep"):
        check_samples(kind)
    longest = max(len(stack) for _, _, _, stack in trace("deep").samples)
    check(longest >= 10000, "the deepest stack", longest)
    # A sample that stands for several periods is as many.
    late = report(STORES.get("late"))
    check(len(trace("late").samples) == late["periods"] > late["samples"], "late samples", late)
    check_samples("small", "--pid", "12")
    check_samples("small", "--tid", "13")
    check_samples("small", "--max-depth", "2")
    got, head = trace("small"), report(STORES.get("small"))
    times = [time for _, _, time, _ in got.samples]
    start = got.clocks[perfetto.MONOTONIC]
    check(times == sorted(times) and min(times) >= start, "times", start, times[:3])
    check(max(times) - start <= head["duration_ns"], "the last sample", max(times), head)


def check_waits(kind):
    got = trace(kind)
    for metric in "wait.blocked", "wait.runnable":
        counts, sums = collections.Counter(), collections.Counter()
        got_counts, got_sums = collections.Counter(), collections.Counter()
        for (pid, tid, _), path, samples, weight in exported(kind, "--metric", metric):
            names = tuple(frame[0] for frame in path)
            counts[pid, tid, names] += samples
            sums[pid, tid, names] += weight
        for one in got.slices:
            if one.category == metric:
                names = tuple(frame.name for frame in one.stack)
                got_counts[(*one.thread, names)] += 1
                got_sums[(*one.thread, names)] += one.values[STANDS_FOR]
                check(one.name in names, "the reason", one)
                check(one.end - one.begin == one.values[STANDS_FOR], "the length", one)
        same(got_counts, counts, metric, "of", kind)
        same(got_sums, sums, "ns of", metric, "of", kind)
    return got


@exports
def test_perfetto_waits():
    """Each wait is a slice, as long as it was; each wake-up with a known waker is a flow."""
    check_waits("waits")
    check_waits("ranges")
    got = check_waits("wakers")
    waits = report(STORES.get("wakers"), "--view", "waits")["waits"]
    wanted = collections.Counter("woken by " + safe(wait["waker"].get("name", "an interrupt")) for wait in waits
                                 if wait["waker"])
    woken = collections.Counter(m.name for m in got.moments if m.name.startswith("woken by "))
    same(woken, wanted, "wakers")
    check(len(got.flows) == woken.total() - woken["woken by an interrupt"] == 3, "flows", got.flows)
    for begin, end in got.flows.values():
        check(begin.thread[1] == 99 and begin.name.startswith("wakes ") and end.name.startswith("woken by "), "a flow",
              begin, end)
        check(any(s.end == end.time and s.track == end.track and s.category == "wait.blocked" for s in got.slices),
              "the wait that a flow ends", end)


@exports
def test_perfetto_regions():
    """Visits and own times of regions are those of the JSON export. (Those of the store `metrics` do not say which
    time is of nested ones.)"""
    for kind in "metrics", "passes", "traced", "instances":
        got = [one for one in trace(kind).slices if one.category == "region"]
        visits, times = collections.Counter(), collections.Counter()
        for metric, index, sums in ("region.visits", 2, visits), ("region.time", 3, times):
            for row in exported(kind, "--metric", metric):
                sums[(*row[0][:2], row[1][-1][0])] += row[index]
        own = collections.Counter()
        for one in got:
            own[(*one.thread, one.name)] += one.own
        same(collections.Counter((*one.thread, one.name) for one in got), visits, "visits of", kind)
        if kind != "metrics":
            same(+own, +times, "times of", kind)


    # A part of the time of both passes is selected, and the end of neither.
    part = [one.name for one in trace("passes", "--from", "1.3s", "--to", "1.5s").slices]
    check(sorted(name.split("(")[0] for name in part) == ["inner", "outer"], "regions of a range", part)
    check(not trace("passes", "--from", "2.5s", "--to", "2.6s").slices, "regions of another range")


@exports
def test_perfetto_counters():
    """The live heap after each allocation and free, and sums of counters."""
    got = trace("heap")
    start = got.clocks[perfetto.MONOTONIC]
    heap = [[((time - start) / 1e6, value) for time, value in values] for (_, name), values in got.values.items()
            if name == "Live heap"]
    check(heap == [[(1.0, 1000), (2.0, 1500), (3.0, 500), (3.5, 0), (4.0, 300), (5.0, 500)]], "the heap", heap)
    got = trace("traced").values
    name = safe("var:it's `a` é\n7 1 x")
    advances = {track: values[-1][1] - values[0][1] for track, values in got.items()}
    wanted = {((12, 12), "cpu"): (90000 - 1000) * 900, ((12, 12), name): 90000 ** 2 // 1000 - 1000 ** 2 // 1000,
              ((99, 99), "cpu"): (45000 - 5000) * 900, ((99, 99), name): -40000}
    check(advances == wanted, "counters", advances, wanted)
