# SPDX-License-Identifier: MIT
"""Paraver traces: the format, and every number against the report's."""

import collections

import paraver
import saved_page
from common import STACKCTL, STORES, check, exports, flat, is_even, report, run


def name_of(name):
    """As the .pcf has a name."""
    data = name.encode("utf-8", "surrogateescape")
    text = "".join(chr(b) if 0x20 <= b < 0x7f else "\\x%02x" % b for b in data)
    if not text:
        return "[unnamed]"
    return "\\x20" + text[1:] if text[0] == " " else text


def trace(kind, *options):
    path = STORES.path(kind + "".join(options) + ".prv")
    run(STACKCTL, "export", "--paraver", path, "-i", STORES.get(kind), *options)
    try:
        return paraver.Trace(path)
    except paraver.Bad as bad:
        check(False, "%s: %s" % (path, bad))


def by_function(samples):
    """{name: [samples in it, samples with it in the path]}"""
    sums = collections.defaultdict(lambda: [0, 0])
    for _, levels in samples:
        sums[levels[0][0]][0] += 1
        for name in {name for name, _ in levels}:
            sums[name][1] += 1
    return sums


def wanted_functions(kind, *options):
    """The same of the report; marks have one name, and functions of one name are one."""
    sums = collections.defaultdict(lambda: [0, 0])
    answer = report(STORES.get(kind), "--view", "flat", "--by", "all", *options)
    for row in answer["parts"][0]["functions"]:
        symbol = answer["symbols"][row["symbol"]]
        name = "Incomplete call path" if symbol["mark"] else name_of(symbol["name"])
        sums[name][0] += row["self"]
        sums[name][1] += row["total"]
    return answer, sums


def check_samples(kind, *options):
    answer, wanted = wanted_functions(kind, *options)
    samples = trace(kind, *options).samples()
    check(len(samples) == answer["samples"], "samples of " + kind, len(samples), answer["samples"])
    if not is_even(STORES.get(kind), *options):
        return
    got = by_function(samples)
    for name in wanted.keys() | got.keys():
        self_wanted, total_wanted = wanted[name]
        check(got[name][0] == self_wanted, "%s: samples in %r" % (kind, name), got[name], wanted[name])
        # Functions of one name that call each other count twice in the report.
        check(got[name][1] <= total_wanted and (got[name][1] == total_wanted or kind in ("names", "real")),
              "%s: samples with %r" % (kind, name), got[name], wanted[name])


@exports
def test_paraver_samples():
    for kind in "small", "inferred", "hostile", "names", "real", "folded", "traced":
        check_samples(kind)
    check_samples("small", "--pid", "12")
    check_samples("small", "--tid", "13")
    lines = {line for _, levels in trace("small").samples() for _, line in levels}
    check("12 (prog.cc, prog)" in lines and "Unresolved" in lines, "lines", lines)


def own_times(instances):
    sums = collections.Counter()
    for _, _, name, begin, end, nested, _ in instances:
        sums[name] += end - begin - nested
    return sums


@exports
def test_paraver_instances():
    """Visits and own times of regions are those of the report."""
    for kind in "folded", "modes", "traced", "instances":
        instances = trace(kind).instances()
        for metric, got in (("region.visits", collections.Counter(i[2] for i in instances)),
                            ("region.time", own_times(instances))):
            part, rows = flat(STORES.get(kind), "all", "--metric", metric)[0]
            wanted = {name_of(row.name): row.self for row in rows if row.self}
            check({name: n for name, n in got.items() if n} == wanted, "%s of %s" % (metric, kind), got, wanted)
    check(len(instances) == 7, "instances", instances)
    parts = sorted((task, thread, name, begin // 1000, end // 1000) for task, thread, name, begin, end, *_
                   in instances)
    outer, other = "outer\\x0a2:1:1:1:1:0:1:1", "\\x20\\xc3\\xa9 [x] 'y'"
    check(parts == [(1, 1, "EVENT_TYPE", 30000, 40000), (1, 1, "EVENT_TYPE", 40000, 50000),
                    (1, 1, "EVENT_TYPE", 55000, 55000), (1, 1, outer, 10000, 90000),
                    (1, 1, outer, 20000, 60000), (2, 1, other, 5000, 25000), (2, 1, other, 25000, 45000)],
          "instances", parts)


@exports
def test_paraver_counters():
    """Increments add up to what the counters advanced by, over each instance and over all."""
    for kind in "folded", "modes":
        instances = trace(kind).instances()
        passes = [i for i in instances if i[2] == "pass"]
        page = STORES.path(kind + ".html")
        counts = collections.Counter()
        for group in ("1", "2") if kind == "modes" else ("",):
            options = ["--group=" + group] if group else []
            run(STACKCTL, "fold", "-i", STORES.get(kind), "--region", "pass", "-o", page, *options)
            data = saved_page.answer(page, "fold")
            counts["passes"] += data["passes"]
            counts["cells"] += round(data["passes"] * data["counters"][0]["mean"])
            counts["cpu"] += round(data["passes"] * data["mean_ns"])
        if kind == "folded":
            # The numbers of the passes are in their totals: see tests/cli/make_folded.h.
            cells_of = [i[6][paraver.COUNTER + 1] for i in sorted(passes, key=lambda i: i[3])]
            check(cells_of == [1000000 + 1000 * n for n in range(400)], "cells", cells_of[:5])
            check(len(passes) == counts["passes"] and sum(cells_of) == counts["cells"], "sums", counts)
            check(sum(i[6][paraver.COUNTER] for i in passes) == counts["cpu"], "CPU time", counts)
        else:
            check(len(passes) == counts["passes"] + 4, "passes and outliers", len(passes), counts)
    got = trace("traced")
    name = "var:it's `a` \\xc3\\xa9\\x0a7 1 x [since the reading before]"
    cpu = "cpu [since the reading before]"
    wanted = {(1, 1, cpu): (90000 - 1000) * 900, (1, 1, name): 90000 ** 2 // 1000 - 1000 ** 2 // 1000,
              (2, 1, cpu): (45000 - 5000) * 900, (2, 1, name): 0}
    check(got.increments() == wanted, "sums", got.increments(), wanted)


@exports
def test_paraver_threads():
    """Tasks and threads are those that have something, in the order of processes."""
    got = trace("traced")
    check(got.threads == [2, 1] and got.cpus == 6, "tasks and CPUs", got.threads, got.cpus)
    check(got.rows["THREAD"] == ["1.1.1 a\\x0aLEVEL 12", "1.1.2 c 13", "1.2.1  99"], "threads", got.rows)
    check(got.rows["NODE"] == ["box"] and got.rows["TASK"] == ["1.1 a\\x0aLEVEL 12", "1.2  99"], "tasks", got.rows)
    check({record.cpu for record in got.records if record.task == 2} == {6}, "its CPU")
    got = trace("instances")
    check(got.threads == [1, 1] and not got.samples() and len(got.instances()) == 7, "without samples", got.threads)
    got = trace("traced", "--pid", "99")
    check(got.threads == [1] and len(got.instances()) == 2, "of one process", got.threads)
    part = trace("folded", "--from", "2s", "--to", "3s")
    times = [record.time for record in part.records]
    check(min(times) >= 1999000000 - 20000000 and max(times) < 3000000000, "of one second", times[:1], times[-1:])
