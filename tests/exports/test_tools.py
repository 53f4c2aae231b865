# SPDX-License-Identifier: MIT
"""Exports, read by the programs that they are for: every number against the report's."""

import base64
import collections
import glob
import json
import os
import re
import socket
import subprocess
import time

from common import (PATIENCE, ROOT, STACKCTL, STORES, by_name, check, compare, export, exports, flat, functions, is_even, need,
                    node, npm, report, run, shared_browser)

STORE_KINDS = ("small", "inferred", "hostile", "names", "managed", "real")


def number(text):
    return int(text.replace(",", ""))


# --- pprof ---------------------------------------------------------------------------------------

def pprof(*arguments):
    environment = dict(os.environ, HOME=STORES.folder, PPROF_TMPDIR=STORES.folder)
    return run("go", "tool", "pprof", "-symbolize=none", *arguments, env=environment)


def pprof_top(*paths):
    """{name: (flat, cum)}"""
    rows = {}
    for line in pprof("-top", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
                      "-sample_index=samples", "-functions", *paths).split("\n"):
        row = re.match(r"\s*(\d+)\s+\S+%\s+\S+%\s+(\d+)\s+\S+%\s\s?(.*)$", line)
        if row:
            name = re.sub(r" \((partial-)?inline\)$", "", row[3])
            rows.setdefault(name, []).append((int(row[1]), int(row[2])))
    return rows


def pprof_raw(path):
    """Samples as (values..., {label: value})."""
    samples = []
    for line in pprof("-raw", path).split("Samples:\n")[1].split("Locations\n")[0].split("\n"):
        row = re.match(r"((?:\s+\d+)+): ([\d ]+)$", line)
        if row:
            samples.append((*map(int, row[1].split()), {}))
        elif samples:
            samples[-1][-1].update(re.findall(r"(\w+):\[(.*?)\](?: |$)", line.strip()))
    return samples


def check_pprof(kind):
    store = STORES.get(kind)
    path = export(store, "pprof")
    wanted, parts = functions(store), report(store)
    unique, shared = by_name(wanted)
    top = pprof_top(path)
    print(pprof("-top", path)[:1500])
    if kind in ("small", "inferred", "real") and is_even(store):  # pprof lays out odd names as it likes
        compare({name: rows[0] for name, rows in top.items() if name not in shared}, unique,
                "pprof -top, " + kind)
    check(sum(flat for rows in top.values() for flat, _ in rows) == parts["samples"], "flat's sum")
    samples = pprof_raw(path)
    check(sum(sample[0] for sample in samples) == parts["samples"], "pprof -raw: samples")
    quality = collections.Counter()
    for count, *_, labels in samples:
        check({"pid", "tid", "comm", "tag", "quality"} <= set(labels), "labels %r" % labels)
        check(re.fullmatch("[0-9a-f]{16}", labels["tag"]), "tag %r" % labels)
        quality[labels["quality"]] += count
    check(quality == {name: n for name, n in parts["quality"].items() if n}, "quality %r" % quality)


@exports
def test_pprof():
    need("go")
    for kind in STORE_KINDS:
        check_pprof(kind)
    store = STORES.get("real")
    for options in (["--max-depth", "5"], ["--fold-recursion"], ["--no-inline"]):
        unique, shared = by_name(functions(store, *options))
        top = pprof_top(export(store, "pprof", *options))
        if is_even(store):
            compare({name: rows[0] for name, rows in top.items() if name not in shared}, unique,
                    "pprof %s" % options)
    check_pprof_metric()


def check_pprof_metric():
    """A metric's instances are counted, and its values added up beside them."""
    samples = pprof_raw(export(STORES.get("metrics"), "pprof", "--metric", "region.time"))
    counts, values = sum(sample[0] for sample in samples), sum(sample[1] for sample in samples)
    check((counts, values) == (4, 10000000), "pprof of a metric: %d, %d" % (counts, values))
    # All of them at once, each with the sum that it has alone; the samples are as ever.
    for kind, sums in (
            ("metrics", {"samples/count[dflt]": 100, "cpu/nanoseconds": 100300900,
                         "region.visits/count": 4, "region.time/nanoseconds": 10000000,
                         "region.cpu/nanoseconds": 4500000, "mpi.sent/bytes": 5120}),
            ("heap", {"samples/count[dflt]": 100, "cpu/nanoseconds": 100300900,
                      "alloc.bytes/bytes": 2000, "alloc.objects/count": 9, "heap.live/bytes": 500,
                      "heap.objects/count": 2, "heap.peak/bytes": 1500})):
        for options in ([], ["--max-depth", "5"], ["--no-inline"]):
            path = export(STORES.get(kind), "pprof", *options)
            names = pprof("-raw", path).split("Samples:\n")[1].split("\n")[0].split()
            columns = zip(*(sample[:-1] for sample in pprof_raw(path)))
            found = dict(zip(names, map(sum, columns)))
            check(found == sums, "pprof of all metrics of %s, %s: %r" % (kind, options, found))


# --- callgrind -----------------------------------------------------------------------------------

def annotate(path, inclusive):
    """{(name, object): samples} as callgrind_annotate lists functions."""
    rows, is_list = {}, False
    for line in run("callgrind_annotate", "--threshold=100", "--auto=no", "--show-percs=no",
                    "--inclusive=" + inclusive, path).split("\n"):
        is_list = is_list or "file:function" in line
        row = re.match(r"\s*([\d,]+|\.)\s+(?:[^:]*):(.*?)(?: \[([^\]]*\]?)\])?$", line)
        if is_list and row:
            object_name = "" if row[3] in (None, "???") else row[3]
            rows[row[2], object_name] = 0 if row[1] == "." else number(row[1])
    return rows


@exports
def test_callgrind():
    need("callgrind_annotate")
    for kind in STORE_KINDS:
        store = STORES.get(kind)
        path, wanted = export(store, "callgrind"), functions(store)
        own, inclusive = annotate(path, "no"), annotate(path, "yes")
        check(sum(own.values()) == report(store)["periods"], kind + ": the sum of own costs", own)
        if kind in ("hostile", "names"):  # the list truncates such names
            continue
        own.pop(("[root]", ""), 0)
        root = inclusive.pop(("[root]", ""))
        check(root == report(store)["periods"], "[root] has %d" % root)
        _, shared = by_name(wanted)  # it distinguishes functions of one name by source alone
        compare({key: (own.get(key, 0), inclusive[key]) for key in inclusive
                 if key[0] not in shared},
                {key: counts for key, counts in wanted.items() if key[0] not in shared},
                "callgrind_annotate, " + kind)


# --- speedscope ----------------------------------------------------------------------------------

class Speedscope:
    """speedscope's own page, as its command opens it."""

    def __init__(self, opened):
        self.browser = opened
        self.page = os.path.join(npm("speedscope"), "dist", "release", "index.html")

    def load(self, path):
        """{name: (self, total)} as its table of functions shows them, of the first thread."""
        script = STORES.path("load.js")
        with open(path, "rb") as file:
            data = base64.b64encode(file.read()).decode("ascii")
        with open(script, "w", encoding="ascii") as file:
            file.write("speedscope.loadFileFromBase64(%s, %s)" %
                       (json.dumps(os.path.basename(path)), json.dumps(data)))
        self.browser.open("about:blank")
        self.browser.open("file://%s#localProfilePath=%s" % (self.page, script))
        self.browser.until("return document.body.innerText.includes('Sandwich')")
        self.browser.press("3")  # the list of functions
        rows = self.browser.until(  # the head of the list stands before its rows do
            "const rows = Array.from(document.querySelectorAll('tr')).map(row =>"
            " Array.from(row.querySelectorAll('td')).map(cell => cell.textContent))"
            " .filter(row => row.length === 3 && row[0].endsWith('%)'));"  # no threads
            "return rows.length && rows")
        check(not self.browser.complaints(), "speedscope complains")
        return {row[2]: (row[1], row[0]) for row in rows}


def speedscope_counts(rows):
    return {name: tuple(number(text.split(" ")[0]) for text in counts)
            for name, counts in rows.items()}


def speedscope_periods(data):
    """How many periods its weights are, which are seconds; an empty stack is time off the CPU."""
    period = period_of(data["stackd"])
    weights = [weight for profile in data["profiles"]
               for stack, weight in zip(profile["samples"], profile["weights"]) if stack]
    check(all(profile["unit"] == "seconds" for profile in data["profiles"]), "the unit")
    return round(sum(weights) / period)


def period_of(head):
    return head["period"] / 1e9 if head["period"] else 1 / head["frequency_hz"]


@exports
def test_speedscope_schema():
    folder = npm("ajv")
    schema = glob.glob(os.path.join(npm("speedscope"), "dist/release/file-format-schema.json"))[0]
    paths = [export(STORES.get(kind), "speedscope") for kind in STORE_KINDS]
    run("node", os.path.join(ROOT, "tests/exports/validate.js"), folder, schema, *paths)
    for kind, path in zip(STORE_KINDS, paths):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        check(speedscope_periods(data) == report(STORES.get(kind))["periods"], "%s: weights" % kind)


def largest_thread(store):
    """Options that choose it, and its functions."""
    part, rows = flat(store, "thread")[0]
    return (["--tid", str(part["tid"]), "--comm", part["comm"]],
            {(f.name, f.object): (f.self, f.total) for f in rows})


def check_loaded(rows, wanted, what):
    """The functions of the report that a table shows: it has room for the first ones only."""
    unique, shared = by_name(wanted)
    shown = {name: counts for name, counts in rows.items() if name not in shared}
    compare(shown, {name: unique.get(name) for name in shown}, what)
    check(len(shown) >= min(5, len(unique)), "%s: only %d rows" % (what, len(shown)))


def seconds(text):
    """Of "12.03ms (5%)", as speedscope writes times."""
    amount, unit = re.match(r"([\d.,]+)(\S+)", text).groups()
    return float(amount.replace(",", "")) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def check_near(rows, wanted, what):
    """speedscope shows times with two decimals, which are not exact counts of periods."""
    unique, shared = by_name(wanted)
    for name, counts in rows.items():
        if name in shared:
            continue
        check(all(abs(a - b) <= 1 + b / 50 for a, b in zip(counts, unique[name])),
              "%s: %s: %r, not %r" % (what, name, counts, unique[name]))


@exports
def test_speedscope():
    speedscope = Speedscope(shared_browser())
    for kind in ("small", "inferred", "real"):
        store = STORES.get(kind)
        options, wanted = largest_thread(store)
        path = export(store, "speedscope", *options)
        with open(path, encoding="utf-8") as file:
            period = period_of(json.load(file)["stackd"])
        rows = {name: tuple(round(seconds(text) / period) for text in texts)
                for name, texts in speedscope.load(path).items()}
        check_near(rows, wanted, "speedscope, " + kind)
    rows = speedscope.load(export(STORES.get("names"), "speedscope", "--tid", "15"))
    check(any("<script>" in name for name in rows), "names %r" % list(rows))


@exports
def test_folded():
    """By speedscope's importer: all threads are one there, below the thread's name."""
    speedscope = Speedscope(shared_browser())
    for kind in ("small", "real"):
        store = STORES.get(kind)
        rows = speedscope_counts(speedscope.load(export(store, "folded")))
        comms = {part["comm"]: part["samples"] for part, _ in flat(store, "command")}
        unique, shared = by_name(functions(store))
        shared |= comms.keys() & unique.keys()  # a thread that is called as a function is
        compare({name: rows[name] for name in rows if name not in shared},
                {name: unique.get(name) or (0, comms.get(name)) for name in rows
                 if name not in shared}, "folded, " + kind)
    rows = speedscope_counts(speedscope.load(export(STORES.get("names"), "folded")))
    check(own_sum(rows) == 60, "names: %r" % rows)
    rows = speedscope.load(export(STORES.get("small"), "perf-script"))
    check({"app::work()", "fact", "main", "_start"} <= set(rows), "perf script: %r" % rows)


# --- Firefox's profiler --------------------------------------------------------------------------

def markers(kind):
    """Of an export for Firefox's profiler: [(name, what or None, milliseconds)]."""
    with open(export(STORES.get(kind), "firefox"), encoding="utf-8") as file:
        data = json.load(file)
    return [(data["shared"]["stringArray"][name], values.get("what"), round(end - begin, 6))
            for thread in data["threads"] for table in [thread["markers"]]
            for name, values, begin, end in zip(table["name"], table["data"], table["startTime"], table["endTime"])]


@exports
def test_firefox_markers():
    """Waits have what they were for; passes through regions are as many as the report counts."""
    waits = collections.Counter(markers("waits"))
    check(waits["blocked", "[futex]", 20.0] == 3 and waits["blocked", "[sleep]", 5.0] == 1, "waits", waits)
    visits = sum(row["visits"] for row in report(STORES.get("metrics"), "--view", "regions")["regions"])
    check(len(markers("metrics")) == visits > 0, "regions", visits, markers("metrics"))


@exports
def test_firefox_heap():
    """The live heap is a counter below its process, and what the profiler adds up is what stackctl heap says."""
    store = STORES.get("heap")
    with open(export(store, "firefox"), encoding="utf-8") as file:
        data = json.load(file)
    wanted = json.loads(run(STACKCTL, "heap", "--json", "-i", store))
    live = {str(process["pid"]): process["live"] for process in wanted["processes"]}
    ends = {counter["pid"]: sum(counter["samples"]["count"]) for counter in data["counters"]}
    check(ends and all(live[pid] == end for pid, end in ends.items()), "counters", ends, live)
    for counter in data["counters"]:
        check(data["threads"][counter["mainThreadIndex"]]["pid"] == counter["pid"], "a counter of another process", counter)
    listed = Firefox().counters(export(store, "firefox"))
    check(len(listed) == len(ends), "the profiler's counters", listed)


class Firefox:
    """Its command line's daemon, one for each profile, which answers a line of JSON with another.

    It is asked at its socket. The command line's own client first sees whether the daemon lives:
    it gives the connection a second, counted from before node has started up, and on a busy machine
    takes a live daemon for a dead one and removes its files."""

    def __init__(self):
        self.script = os.path.join(npm("@firefox-devtools/profiler-cli"), "dist/profiler-cli.js")
        self.environment = dict(os.environ, HOME=STORES.folder, PROFILER_CLI_NO_SYMBOLICATE="1",
                                PROFILER_CLI_SESSION_DIR=STORES.path("sessions"))
        self.sessions = 0

    def load(self, path, wanted, width=3):
        """{(pid, tid, name)[:width]: {(function, library): (self, total)}}; None for those not
        wanted."""
        return self.ask(path, lambda profile: {thread[:width]: profile.functions(handle) if thread[:width] in wanted else None
                                               for handle, thread in profile.threads().items()})

    def counters(self, path):
        return self.ask(path, lambda profile: profile.command(command="counter", subcommand="list")["counters"])

    def ask(self, path, question):
        """The answer of a loaded profile."""
        folder = STORES.path("sessions")
        os.makedirs(folder, exist_ok=True)
        self.sessions += 1
        session = "s%d" % self.sessions
        with subprocess.Popen([node(), self.script, "--daemon", path, "--session", session],
                              env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as daemon:
            try:
                with FirefoxProfile(daemon, os.path.join(folder, session + ".sock")) as profile:
                    return question(profile)
            finally:
                daemon.terminate()


class FirefoxProfile:
    """A connection to the daemon of one profile."""

    def __init__(self, daemon, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        end = time.monotonic() + PATIENCE
        while not self.connects(path):
            self.wait(daemon, end)
        self.lines = self.socket.makefile(encoding="utf-8")
        while self.ask({"type": "status"})["type"] != "ready":
            self.wait(daemon, end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.socket.close()

    @staticmethod
    def wait(daemon, end):
        check(daemon.poll() is None, "the profiler's command line ended early")
        check(time.monotonic() < end, "the profile was not loaded in two minutes")
        time.sleep(0.05)

    def connects(self, path):
        try:
            self.socket.connect(path)
            return True
        except (FileNotFoundError, ConnectionRefusedError):
            return False

    def ask(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")
        answer = json.loads(self.lines.readline() or '{"type": "error", "error": "it has gone"}')
        check(answer["type"] != "error", "the profiler's command line: %s" % answer.get("error"))
        return answer

    def command(self, **words):
        return self.ask({"type": "command", "command": words})["result"]

    def threads(self):
        """{handle: (pid, tid, name)}"""
        rows = self.command(command="thread", subcommand="list", threadListOptions={"limit": 0})
        return {row["threadHandle"]: (int(row["pid"].split(".")[0]), row["tid"], row["name"])
                for row in rows["threads"]}

    def functions(self, handle):
        rows = self.command(command="thread", subcommand="functions", thread=handle, includeIdle=True)
        return {(row["name"], row.get("library") or ""): (row["selfSamples"], row["totalSamples"])
                for row in rows["functions"]}


def threads_of(store, most=2):
    """The same by the report, of all threads, of which those with most samples are first."""
    threads = {(part["pid"], part["tid"], part["comm"] or "[unnamed]"):
               {(f.name, f.object): (f.self, f.total) for f in rows}
               for part, rows in flat(store, "thread")}
    return threads, list(threads)[:most]


def own_sum(rows):
    return sum(own for own, _ in rows.values())


@exports
def test_firefox():
    firefox = Firefox()
    for kind in ("small", "inferred", "names", "real"):
        store = STORES.get(kind)
        threads, wanted = threads_of(store)
        loaded = firefox.load(export(store, "firefox"), wanted)
        check(set(loaded) == set(threads), "threads %r" % list(loaded))
        for thread in wanted:
            what = "Firefox, %s, %r" % (kind, thread)
            if kind == "names" or not is_even(store):  # shown escaped; a sample's weight is the viewer's
                if kind == "names":
                    compare({"sum": own_sum(loaded[thread])}, {"sum": own_sum(threads[thread])}, what)
            else:
                compare(loaded[thread], threads[thread], what)


@exports
def test_perf_script():
    """By the importer of Firefox's profiler, in which a thread has one name."""
    firefox = Firefox()
    for kind in ("small", "hostile", "names", "real"):
        store = STORES.get(kind)
        if not is_even(store):
            continue
        wanted = [key[:2] for key in threads_of(store)[1]]
        loaded = firefox.load(export(store, "perf-script"), wanted, width=2)
        for thread in wanted:
            what, got = "perf script, %s, %r" % (kind, thread), loaded.get(thread) or {}
            rows = functions(store, "--tid", str(thread[1]))
            compare({"sum": own_sum(got)}, {"sum": own_sum(rows)}, what)
            if kind not in ("small", "real"):
                continue
            # A function that is inlined by one caller and not by another is two to the importer,
            # which takes "inlined" for an object.
            unique, several = by_name(rows)[0], by_name(got)[1]
            named = {name: counts for name, counts in unique.items()
                     if "+0x" not in name and name not in several}
            compare({name: counts for (name, _), counts in got.items() if name in named}, named,
                    what)


# --- JSON ----------------------------------------------------------------------------------------

def documented():
    """The names in code quotes of docs/JSON.md."""
    with open(os.path.join(ROOT, "docs/JSON.md"), encoding="utf-8") as file:
        return set(re.findall(r'`"?(\w+)', file.read()))


def members(value):
    if isinstance(value, dict):
        for name, more in value.items():
            yield name
            yield from members(more)
    elif isinstance(value, list):
        for more in value[:50]:
            yield from members(more)


def totals(data):
    """Self and total by symbol, from stacks and entries."""
    own, total = collections.Counter(), collections.Counter()
    for entry in data["entries"]:
        stack, seen = entry["stack"], set()
        own[data["frames"][data["stacks"][stack][1]]["symbol"]] += entry["samples"]
        while stack >= 0:
            stack, frame = data["stacks"][stack]
            seen.add(data["frames"][frame]["symbol"])
        for symbol in seen:
            total[symbol] += entry["samples"]
    symbols = data["symbols"]
    return {(symbols[i]["name"], symbols[i]["object"]): (own[i], total[i]) for i in total}


@exports
def test_json():
    names = documented()
    for kind in STORE_KINDS:
        store = STORES.get(kind)
        with open(export(store, "json"), encoding="utf-8") as file:
            data = json.load(file)
        unknown = set(members(data)) - names
        check(not unknown, "not in docs/JSON.md: %s" % sorted(unknown))
        if is_even(store):
            compare(totals(data), functions(store), "json, " + kind)
        for i, (parent, frame) in enumerate(data["stacks"]):
            check(-1 <= parent < i and frame < len(data["frames"]), "stack %d" % i)
