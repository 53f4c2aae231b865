# SPDX-License-Identifier: MIT
"""stackctl push to a ClickHouse server: what is there against SQL on the SQLite source, whatever breaks
off on the way."""

import collections
import json
import os
import re
import socket
import subprocess
import time

import saved_page
from clickhouse import Relay, Server, TlsRelay, free_port, page
from common import (LONG, PATIENCE, ROOT, STACKCTL, STACKD, STORES, Skip, check, exports, functions, need, run,
                    why_no_bpf)
from tables import COLUMNS, UNLABELLED, Source, added_up, same, without_labels

PUSHES = ("SELECT push FROM (SELECT push FROM windows ORDER BY end_ns DESC, push LIMIT 1 BY host, "
          "window)")  # docs/FLEETS.md
SERVERS = []


def server():
    """One for all tests."""
    if not SERVERS:
        SERVERS.append(Server())
    return SERVERS[0]


def stop():
    while SERVERS:
        SERVERS.pop().stop()


def push(url, store, *options, status=0, says="", **environment):
    """Standard error of a push, which must end so."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("CLICKHOUSE_") and not name.lower().endswith("_proxy")}
    done = subprocess.run([STACKCTL, "push", url, "-i", store, *options], timeout=PATIENCE, text=True,
                          env=dict(clean, **environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == status, "push ended with %d, not %d" % (done.returncode, status),
          done.stderr)
    check(says in done.stderr, "push does not say %r" % says, done.stderr)
    check(not done.stdout, "standard output", done.stdout)
    return done.stderr


def store_of(kind, host):
    path = STORES.path("%s-%s.db" % (kind, host))
    if not os.path.exists(path):
        os.environ["STORE_HOST"] = host
        STORES.make(path, kind)
        del os.environ["STORE_HOST"]
    return path


def columns_of(table):
    return ", ".join("toUnixTimestamp(`%s`)" % name if name in ("start", "end") else "`%s`" % name
                     for name in COLUMNS[table])


def counted(database, host):
    """The rows of a host's samples that count."""
    return server().ask("SELECT %s FROM samples WHERE host = '%s' AND push IN (%s) FORMAT JSONCompact"
                        % (columns_of("samples"), host, PUSHES), database)


def as_seen(rows):
    """Times of SQL as the server has them: in seconds."""
    return [tuple(value[:-9] if name in ("start", "end") else value
                  for name, value in zip(UNLABELLED, row)) for row in rows]


def everything(database):
    return {table: sorted(server().ask("SELECT * FROM %s FORMAT JSONCompact" % table, database), key=str)
            for table in ("windows", "samples", "paths", "locations", "labels")}


# --- what arrives ---------------------------------------------------------------------------------

@exports
def test_clickhouse_push():
    """Many hosts in one database, each recording against its own store."""
    url = server().make("fleet")
    kinds = ("small", "hostile", "names", "namesakes", "inferred", "metrics", "waits", "heap", "fleet", "deep")
    for kind in kinds:
        store = store_of(kind, "host-" + kind)
        push(url, store, says="recordings sent: 1")
        source = Source(store)
        same(without_labels(counted("fleet", "host-" + kind)), as_seen(source.samples()), kind)
        # One file's locations have other names in each of these stores, so these are pushed apart, too.
        push(server().make("alone"), store, says="recordings sent: 1")
        for table, wanted in (("paths", source.paths()), ("locations", source.locations())):
            same(server().ask("SELECT %s FROM %s FORMAT JSONCompact" % (columns_of(table), table),
                              "alone"), wanted, kind + ": " + table)
    labels = sorted((row[9] or "", row[10] or "", row[11] or "", row[8], row[16])
                    for row in counted("fleet", "host-fleet"))
    check(labels == [("", "", "3", "prog", "4"), ("", "", "3", "prog", "6"), ("", "", "3", "prog", "8"),
                     ("docker-%s.scope" % ("0123456789abcdef" * 4), "docker 0123456789ab", "", "prog",
                      "12"), ("nginx.service", "", "", "", "10")], "labels %r" % labels)
    push(url, store_of("empty", "host-empty"), says="recordings sent: 1 (0 rows")
    check(counted("fleet", "host-empty") == [], "samples of a recording without any")
    before = everything("fleet")
    for kind in kinds + ("empty",):
        push(url, store_of(kind, "host-" + kind), says="recordings sent: 0 (0 rows, 0 bytes); there already: 1")
    check(everything("fleet") == before, "a repeated push changed something")


@exports
def test_clickhouse_windows():
    """A range, the rest, and all again; each window once."""
    url, store = server().make("windows"), store_of("windows", "web1")
    push(url, store, "--recording", "2", says="recordings sent: 1")
    push(url, store, "--recording", "2..4", says="recordings sent: 2")
    push(url, store, says="recordings sent: 3")
    push(url, store, says="recordings sent: 0")
    wanted = []
    for number in range(1, 7):
        source = Source(store, "--recording", str(number))
        wanted += source.samples()
    same(without_labels(counted("windows", "web1")), as_seen(wanted), "windows")
    same(server().ask("SELECT %s FROM paths FORMAT JSONCompact" % columns_of("paths"), "windows"),
         source.paths(), "paths are sent once")
    push(url, store, "--recording", "9", status=2, says="no recording has a number from 9 to 9")
    push(url, store, "--since", "1h", status=3, says="nothing was recorded from")


def check_documented(engine):
    """The queries of docs/FLEETS.md, as they stand there but for the time."""
    with open(os.path.join(ROOT, "docs/FLEETS.md"), encoding="utf-8") as file:
        pushes, twice, short, top = re.findall(r"```sql\n(.*?)```", file.read(), re.DOTALL)
    check(" ".join(pushes.split()) == PUSHES, "the query of pushes is another one here")
    url, wanted = engine.make("documented"), collections.Counter()
    for kind, host in (("small", "web1"), ("after", "web2"), ("small", "db1")):
        push(url, store_of(kind, host))
        if host.startswith("web"):
            for name, (own, _) in functions(store_of(kind, host)).items():
                wanted[name[0]] += own
    unnamed = "libx.so+0x50"  # has no function
    short, rows = (engine.ask(query.replace("start >= now() - 3600", "start >= toDateTime(1699999999)"), "documented") for query in (short, top))
    got = {unnamed if name == "\\N" else name: int(count) for name, count in rows}
    check(got == {name: own for name, own in wanted.items() if own and "[" not in name},
          "the top functions: %r, and %r in the reports" % (got, wanted))
    check(dict(short).keys() - wanted.keys() <= {name for name in dict(short) if "[" in name} and
          {name: int(count) for name, count in short if name in got} == got, "by views: %r, and %r" % (short, got))
    check(engine.ask(twice, "documented") == [], "two definitions")


@exports
def test_clickhouse_documented():
    check_documented(server())


@exports
def test_clickhouse_grown():
    """A recording that has gone on counts as it was last, and never as it was before."""
    url = server().make("grown")
    push(url, store_of("small", "web1"), says="recordings sent: 1")
    # The same recording by its start and host, with what came later.
    push(url, store_of("metrics", "web1"), says="recordings sent: 1")
    wanted = as_seen(Source(store_of("metrics", "web1")).samples())
    same(without_labels(counted("grown", "web1")), wanted, "grown")
    push(url, store_of("small", "web1"), says="recordings sent: 0")
    same(without_labels(counted("grown", "web1")), wanted, "grown, and the older state again")


@exports
def test_clickhouse_one_tag():
    """Two paths with one tag, from two hosts: told apart in whatever order they come."""
    for first, second in (("fleet", "twin"), ("twin", "fleet")):
        url = server().make("twins")
        push(url, store_of(first, first))
        push(url, store_of(second, second), says="of the paths and locations share an id with another one")
        rows = server().ask(
            """SELECT host, any(function), sum(count) FROM (SELECT host, count, id, location_alt FROM
            samples ANY INNER JOIN (SELECT tag, alt, location AS id, location_alt FROM paths)
            USING tag, alt) ANY INNER JOIN (SELECT id, alt AS location_alt, function FROM locations
            WHERE inlined = 0) USING id, location_alt GROUP BY host, id, location_alt""", "twins")
        check(sorted(rows) == sorted([["fleet", "twin", "6"], ["fleet", "outer", "30"],
                                      ["twin", "twin", "5"]]), "%s first: %r" % (first, rows))


# --- reading it -----------------------------------------------------------------------------------

def lines(store, *options, status=0, says=""):
    """A report without its header; all rows, and in order where shares are equal."""
    done = subprocess.run([STACKCTL, "report", "--percent-limit", "0", "-i", store, *options],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    check(done.returncode == status, "report %r: %d, not %d" % (options, done.returncode, status),
          done.stderr)
    check(says in done.stderr, "report does not say %r" % says, done.stderr)
    return done.stdout.split("\n\n", 1)[-1]


def rename(database, function, name):
    """Gives a function another name in a database, and waits until it has that."""
    name, function = (text.replace("\\", "\\\\").replace("'", "\\'") for text in (name, function))
    server().ask("ALTER TABLE locations UPDATE function = '%s' WHERE function = '%s'" % (name, function), database)
    until(lambda: server().ask("SELECT count() FROM locations WHERE function = '%s'" % function, database) == [["0"]], "the name")


VIEWS = ("tree", "flat", "callers")


def check_views(store, url, *options, views=VIEWS):
    for view in views:
        mine = lines(store, "--view", view, *options)
        if "unit" in options or "container" in options:  # tables do not tell none from not known
            mine = mine.replace("[unknown]", "[no %s]" % options[1])
        check(mine and lines(url, "--view", view, *options) == mine, "--view %s %r" % (view, options),
              lines(url, "--view", view, *options), mine)


@exports
def test_clickhouse_report():
    """Views of a server's sums are those of the store, to the byte."""
    store, url = store_of("deep", "web1"), server().make("report")
    push(url, store)
    check(lines(url) == lines(store, "--by", "all"), "a path of 10,000 frames")
    few = store_of("small", "web2")  # of all paths: these are fetched by generations, up to the last
    push(url, few)
    check(lines(url, "--host", "web2") == lines(few, "--by", "all"), "few of many paths")
    # Each view of each grouping, of two of the stores at least; of all of them in the long run.
    for turn, kind in enumerate(("small", "hostile", "inferred", "metrics", "waits", "heap", "fleet")):
        store, url = store_of(kind, "web1"), server().make("report")
        push(url, store)
        for number, by in enumerate(("all", "command", "unit", "container", "host")):
            check_views(store, url, "--by", by, views=VIEWS if LONG else [VIEWS[(turn + number) % len(VIEWS)]])
    store, url = store_of("namesakes", "web1"), server().make("report")
    push(url, store)
    check_views(store, url, "--by", "all")
    store, url = store_of("small", "web1"), server().make("report")
    push(url, store)
    for options in (("--symbol", "fact"), ("--focus", "main", "--ignore", "fact"), ("--dso", "libx.so"),
                    ("--comm", "other"), ("--max-depth", "2"), ("--no-inline",), ("--around", "main")):
        check(lines(url, "--by", "all", *options) == lines(store, "--by", "all", *options), options)
    check(lines(url, "--by", "command", "--comm", "prog") ==
          lines(store, "--by", "command", "--comm", "prog"), "a command of them")
    store, url = store_of("metrics", "web1"), server().make("report")
    push(url, store)
    for metric in ("region.time", "region.visits", "region.cpu", "mpi.sent"):
        check_views(store, url, "--by", "all", "--metric", metric)
    check("host web1: 40 samples" in lines(ranks(), "--by", "host"), "ranks")
    check_parts("rank 3: 18 samples, 45.0% of all", lines(ranks(), "--by", "rank"))
    picture = STORES.path("fleet.svg")
    run(STACKCTL, "flamegraph", "-i", ranks(), "-o", picture)
    with open(picture, encoding="utf-8") as file:
        check("twin" in file.read(), "the flame graph")


def ranks():
    url = server().url("ranks")
    if ["ranks"] not in server().ask("SHOW DATABASES", "default"):
        push(server().make("ranks"), store_of("fleet", "web1"))
    return url


def check_parts(wanted, text):
    check(wanted in text, "no part %r" % wanted, text)


@exports
def test_clickhouse_report_hosts():
    """Hosts are added up, chosen and told apart; windows are chosen by their time."""
    url = server().make("hosts")
    for kind, host in (("small", "web1"), ("after", "web2"), ("small", "web_3"), ("small", "db1")):
        push(url, store_of(kind, host))
    push(url, store_of("windows", "web1"))
    text = lines(url, "--by", "host", "--to", "2023-11-15")
    for part in ("host db1: 100 samples", "host web1: 100 samples", "host web2: 100 samples"):
        check_parts(part, text)
    parts = lines(url, "--by", "host", "--host", "web*", "--to", "2023-11-15")
    check("db1" not in parts and parts.count("samples, 33.3% of all") == 3, parts)
    check("all: 100 samples" in lines(url, "--host", "web_?"), "'_' is a letter like others")
    check("all: 200 samples" in lines(url, "--host", "web2", "--host", "db1"), "two hosts")
    check("all: 600 samples" in lines(url, "--from", "2023-11-15 10:00", "--host", "web1"), "windows")
    check("all: 200 samples" in lines(url, "--from", "2023-11-15 10:15", "--to", "2023-11-15 10:25"),
          "windows that go on in a time count as a whole")
    mine = lines(store_of("windows", "web1"), "--by", "all", "--recording", "1..6")
    check(lines(url, "--from", "2023-11-15 10:00") == mine, "six windows", mine)
    server().ask("INSERT INTO windows SELECT host, window, push + 1, start, start_ns, end_ns, finished, "
                 "'cycles', target, kernel, samples, lost FROM windows WHERE host = 'db1'", "hosts")
    server().ask("INSERT INTO windows SELECT host, window + 1, push, start, start_ns, end_ns - 1, finished, "
                 "'cycles', target, kernel, samples, lost FROM windows WHERE host = 'db1'", "hosts")
    lines(url, "--host", "db1", says="1 window of that time has another event, and is left out (cycles)")


def check_labels(url, store):
    """Parts and choices by labels are those of the store; so are times on and off the CPU."""
    for by in ("service", "namespace", "pod", "label:env", "label:container", "label:node", "label:nothing"):
        check(lines(url, "--by", by, "--host", "l1") == lines(store, "--by", by), "by " + by, lines(url, "--by", by), lines(store, "--by", by))
    for options in (("--label", "namespace=web"), ("--label", "pod=w*", "--label", "env=prod"), ("--label", "pod="),
                    ("--label", "service=shop"), ("--container", "ngin?"), ("--label", "node=l1"),
                    ("--comm", "prog", "--label", "env=p*")):
        mine = lines(store, "--by", "pod", *options)
        check(mine and lines(url, "--by", "pod", "--host", "l1", *options) == mine, options, lines(url, "--by", "pod", "--host", "l1", *options), mine)
    units = "--by", "unit", "--unit", "ngin*"
    check(lines(url, "--host", "f1", *units) == lines(store_of("fleet", "f1"), *units), "a unit")
    lines(url, "--label", "pod=none", status=3, says="that the options choose")


@exports
def test_clickhouse_wall():
    check_wall(server())


def check_wall(engine):
    """Times on and off the CPU."""
    url, store = engine.make("walls"), store_of("waits", "w1")
    push(url, store)
    for metric in ("wall", "wait", "wait.blocked"):
        check(lines(url, "--metric", metric) == lines(store, "--by", "all", "--metric", metric), metric)


@exports
def test_clickhouse_labels():
    url, store = server().make("labels"), store_of("labels", "l1")
    for kind, host in ("labels", "l1"), ("waits", "w1"), ("small", "web1"), ("fleet", "f1"):
        push(url, store_of(kind, host), says="recordings sent: 1")
    check_labels(url, store)
    # Waits are added up whatever the event; samples of two events never are.
    server().ask("ALTER TABLE windows UPDATE event = 'cycles' WHERE host = 'w1'", "labels")
    until(lambda: server().ask("SELECT count() FROM windows WHERE event = 'cycles'", "labels") == [["1"]], "the event")
    check_parts("all: ", lines(url, "--metric", "wait.blocked"))
    check_parts("host w1: ", lines(url, "--by", "host", "--event", "cycles", says="3 windows of that time have another event, and are left out (cpu-clock)"))
    check("host w1: " not in lines(url, "--by", "host", "--event", "cpu-clock", says="1 window of that time has another event"), "an event")
    lines(url, "--event", "cache-misses", status=3, says="it has no recordings of the event 'cache-misses' there, but of: cycles, cpu-clock")
    lines(url, "--event", "cycles", "--metric", "wall", status=3, says="wall adds up times, and the samples count cycles")


# The tables of version 1 of the columns that came later.
OLDER = {"locations": ("ReplacingMergeTree() ORDER BY (id, alt, inlined)", "named, day, named_at"),
         "paths": ("ReplacingMergeTree() ORDER BY (tag, alt, parent, parent_alt, location, location_alt)", "day"),
         "samples": ("MergeTree() PARTITION BY toDate(start) ORDER BY (metric, toStartOfHour(start), host, window, command, "
                     "tag, alt)", "label_set"),
         "totals": ("MergeTree() PARTITION BY toDate(start) ORDER BY (metric, push)", ""),
         "windows": ("MergeTree() PARTITION BY toDate(start) ORDER BY (host, window, push)", "")}


def make_older(engine, database, of):
    """A database as stackctl made it before labels and versions, with the rows of another one."""
    url = engine.make(database)
    for table, (kind, later) in OLDER.items():
        columns = ["`%s`" % name for (name,) in engine.ask("SELECT name FROM system.columns WHERE database = '%s' AND table = '%s'"
                                                           % (of, table), database) if name not in later.split(", ")]
        engine.ask("CREATE TABLE %s ENGINE = %s AS SELECT %s FROM %s.%s" % (table, kind, ", ".join(columns), of, table), database)
    return url


def check_upgrade(engine):
    """Tables of the version before are read as they are, and upgraded by a push, even after one that was interrupted."""
    store, labels = store_of("names", "web1"), store_of("labels", "l1")
    push(engine.make("today"), store)
    push(engine.url("today"), store_of("fleet", "f1"))
    wanted = lines(engine.url("today"), "--by", "host")
    for left in (), ("_old",), ("_next",):
        url = make_older(engine, "older", "today")
        check(lines(url, "--by", "host") == wanted, "tables of version 1")
        lines(url, "--by", "pod", status=2, says="its tables are of an older version and have no labels")
        claim = "CREATE TABLE upgrading (since UInt32 DEFAULT toUInt32(%s)) ENGINE = MergeTree() ORDER BY tuple()"
        if left:
            engine.ask(claim % engine.ask("SELECT toUnixTimestamp(now())", "older")[0][0], "older")
            push(url, store, status=1, says="another push is upgrading its tables")
            engine.ask("DROP TABLE upgrading", "older")
            engine.ask(claim % 1700000000, "older")  # of one that was interrupted long ago
        for table in ("paths", "locations") if left else ():
            engine.ask("RENAME TABLE %s TO %s%s" % (table, table, left[0]), "older")
        if left == ("_next",):  # with the table itself
            for table in ("paths", "locations"):
                engine.ask("RENAME TABLE %s_next TO %s" % (table, table), "older")
                engine.ask("CREATE TABLE %s_next (wrong UInt8) ENGINE = Log" % table, "older")
        push(url, store, says="recordings sent: 0 (0 rows, 0 bytes); there already: 1")
        check(lines(url, "--by", "host") == wanted, "tables of version 1 that were upgraded", left)
        # An older stackctl goes on, on a host without the lines of these functions.
        engine.ask("INSERT INTO locations (%s, file, line) SELECT %s, NULL, NULL FROM locations WHERE isNotNull(line)"
                   % (("id, alt, inlined, kind, file_id, build_id, object, offset, frame, function, layout, function_start",) * 2), "older")
        check(lines(url, "--by", "host") == wanted, "names twice", left, lines(url, "--by", "host"))
        push(url, labels, says="recordings sent: 1")
        check(lines(url, "--by", "pod", "--host", "l1") == lines(labels, "--by", "pod"), "labels after it")
        tables = {row[0] for row in engine.ask("SHOW TABLES", "older")}
        check(not [name for name in tables if name.endswith(("_old", "_next")) or name.startswith("upgrading")], "tables %r" % tables)
    check(engine.ask("SELECT max(version) FROM versions", "older") == [["2"]], "version")
    engine.ask("ALTER TABLE samples ADD COLUMN more String", "older")
    push(url, store_of("small", "web2"), says="recordings sent: 1")
    for newer, status in (3, 0), (4, 2):
        engine.ask("INSERT INTO versions (version, at, program) SELECT toUInt32(%d), now(), 'later'" % newer, "older")
        push(url, store_of("small", "web3"), status=2, says="its tables are of version %d" % newer)
        lines(url, status=status)


@exports
def test_clickhouse_upgrade():
    check_upgrade(server())
    check_upgrade_at_once()


def check_upgrade_at_once():
    """Of several pushes one upgrades; the others push, or say that it does. Nothing is lost."""
    store = store_of("names", "web1")
    url, wanted = make_older(server(), "older", "today"), lines(server().url("today"), "--by", "host")
    pushers = [subprocess.Popen([STACKCTL, "push", url, "-i", store], stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for pusher in pushers:
        _, said = pusher.communicate(timeout=PATIENCE)
        check(pusher.returncode == 0 or pusher.returncode == 1 and "another push is upgrading" in said, "a pusher", said)
    check(0 in [pusher.returncode for pusher in pushers], "none has upgraded")
    push(url, store, says="recordings sent: 0 (0 rows, 0 bytes); there already: 1")
    check(lines(url, "--by", "host") == wanted, "what is there after upgrades at once")
    tables = {row[0] for row in server().ask("SHOW TABLES", "older")}
    check(not [name for name in tables if name.endswith(("_old", "_next")) or name.startswith("upgrading")], "tables %r" % tables)


@exports
def test_clickhouse_better_names():
    """A host with better names mends those that one with a stripped file has sent; one with worse ones does not."""
    good, url = server().make("good"), server().make("mended")
    store = store_of("names", "web1")
    push(good, store)
    push(url, store_of("empty", "web0"))
    worse = ("id, alt, toUInt32(0), kind, file_id, build_id, object, offset, frame, NULL, NULL, NULL, layout, "
             "function_start, toUInt32(isNotNull(function_start)), day, named_at")
    server().ask("INSERT INTO mended.locations SELECT %s FROM good.locations WHERE inlined = 0" % worse, "good")
    for table in ("paths", "samples", "totals", "windows", "labels"):
        server().ask("INSERT INTO mended.%s SELECT * FROM good.%s" % (table, table), "good")
    wanted, poor = lines(good), lines(url)
    check(wanted != poor and "+0x" in poor, "no worse names", poor)
    push(url, store_of("names", "web2"), says="recordings sent: 1")
    check(lines(url, "--host", "web1") == wanted, "names that another host mends", lines(url, "--host", "web1"), wanted)
    server().ask("INSERT INTO mended.locations SELECT %s FROM good.locations WHERE inlined = 0" % worse, "good")
    check(lines(url, "--host", "web1") == wanted, "names that another host takes away")


NAMED = """int work(int n) { volatile int sum = 0; for (int i = 0; i < n; i++) sum += i; return sum; }
int main(void) { for (int i = 0; i < 3000; i++) work(100000); return 0; }"""


@exports
def test_clickhouse_names():
    """A stripped function is one, by its start, and gets its name and lines later, from the file that was not stripped."""
    if why_no_bpf():
        raise Skip(why_no_bpf())
    need("gcc", "strip")
    source, whole, program, store = (STORES.path(name) for name in ("named.c", "named.whole", "named", "named.db"))
    with open(source, "w", encoding="ascii") as file:
        file.write(NAMED)
    run("gcc", "-g", "-O1", "-fno-inline", "-Wl,--build-id", "-o", whole, source)
    run("strip", "-o", program, whole)
    run(STACKD, "-q", "-F", "1999", "-o", store, "--", program)
    url = server().make("names")
    push(url, store, says="recordings sent: 1")

    def hits():
        """{function of the program: samples that hit in it}"""
        return {name: own for (name, object), (own, _) in functions(url).items() if object == program and own}
    before = hits()
    (start,) = [name for name in before if before[name] == max(before.values())]
    check(re.fullmatch(r"named\+0x[0-9a-f]+", start), "functions %r" % before)
    run(STACKCTL, "names", "push", url)  # this machine's file is stripped, too
    check(hits() == before, "names from nowhere %r" % hits())
    run(STACKCTL, "names", "push", url, whole)
    after = hits()
    check(after.get("work") == before[start] and start not in after, "functions %r, before %r" % (after, before))
    text = lines(url, "--view", "flat", "--symbol", "work")
    check("work" in text, text)
    rows = "SELECT count() FROM locations WHERE function = 'work' AND line > 0"
    (count,), = server().ask(rows, "names")
    run(STACKCTL, "names", "push", url, whole)
    check(server().ask(rows, "names") == [[count]] and int(count) > 0, "they were sent twice: %s" % count)
    push(url, store, says="there already: 1")
    for wrong, says in ((source, "named.c: "), (STORES.path("none"), "No such file")):
        done = subprocess.run([STACKCTL, "names", "push", url, wrong], stderr=subprocess.PIPE, text=True)
        check(done.returncode == 2 and says in done.stderr, done.stderr)


DAY = 86400


def fill_for_keeping(engine, store):
    """A database of today and of long ago, with an interrupted push of two days ago and one that is going on."""
    url, now = engine.make("keep"), int(time.time())
    push(url, store, says="recordings sent: 1")  # of 2023
    for days, number in (2, 5), (0, 7):
        engine.ask("INSERT INTO samples (tag, host, start, metric, count, push) SELECT toUInt64(1), 'web9', now(), 'cpu', "
                   "toUInt64(%d), toUInt64(%d)" % (number, (now - days * DAY) << 32 | number), "keep")
    engine.ask("INSERT INTO versions (version, at, program) SELECT toUInt32(2), now() - 10 * %d, 'x'" % DAY, "keep")
    return url


def counts(engine):
    """By table of what is of long ago."""
    return [int(engine.ask("SELECT count() FROM %s WHERE %s < toDate('2024-01-01')" % (table, column), "keep")[0][0])
            for table, column in (("windows", "toDate(start)"), ("totals", "toDate(start)"), ("samples", "toDate(start)"),
                                  ("paths", "day"), ("locations", "day"), ("labels", "day"))]


def check_orphans(engine):
    until(lambda: engine.ask("SELECT count FROM samples WHERE host = 'web9'", "keep") == [["7"]], "the deletion of an interrupted push")


@exports
def test_clickhouse_keep():
    """A server that has no TTL: days that are too old are deleted, and not sent again."""
    store = store_of("labels", "l1")
    url = fill_for_keeping(server(), store)
    check(all(counts(server())), "nothing of long ago %r" % counts(server()))
    push(url, store, "--keep-age", "9000d", says="interrupted or replaced pushes, whose rows are being deleted: 1")
    check_orphans(server())
    check(all(counts(server())), "something is too young %r" % counts(server()))
    push(url, store, "--keep-age", "30d", says="days of tables deleted: 6")
    check(not any(counts(server())), "left of long ago %r" % counts(server()))
    check_orphans(server())
    push(url, store, "--keep-age", "30d", says="recordings sent: 0 (0 rows, 0 bytes); there already: 1")
    check(not any(counts(server())), "sent again %r" % counts(server()))
    for wrong in ("0", "soon", "1h"):
        push(url, store, "--keep-age", wrong, status=2, says="is not a time of 1d to")


MANY = 12000


def fill_with_rare(engine, database, samples):
    """Adds that many paths of a sample each, of three commands, to a database of 100 samples."""
    each = "arrayJoin(range(%d)) + 1000" % MANY
    engine.ask("INSERT INTO paths (tag, alt, parent, parent_alt, location, location_alt, day) SELECT %s, alt, parent, parent_alt, "
               "location, location_alt, day FROM (SELECT * FROM paths WHERE parent != 0 LIMIT 1) AS p" % each, database)
    engine.ask("INSERT INTO %s (tag, alt, host, window, start, end, event, metric, command, reason, quality, count, weight, push) "
               "SELECT %s AS t, toUInt32(0), host, window, start, end, event, metric, concat('prog', toString(t %% 3)), 'entry', "
               "'complete', toUInt64(1), toUInt64(1003009), push FROM (SELECT * FROM %s WHERE metric = 'cpu' LIMIT 1) AS s"
               % (samples, each, samples), database)
    engine.ask("INSERT INTO totals (push, host, start, metric, weight, count) SELECT push, host, start, metric, weight, toUInt64(%d) "
               "FROM (SELECT * FROM totals WHERE metric = 'cpu' LIMIT 1) AS t" % MANY, database)


@exports
def test_clickhouse_rare():
    """A flame graph of more paths than a page can show: the server adds up the rarest, which is said, and no sample is lost."""
    url = server().make("rare")
    push(url, store_of("small", "web1"))
    fill_with_rare(server(), "rare", "samples")
    (tags, alone), = server().ask("SELECT count(), countIf(n = 1) FROM (SELECT tag, sum(count) AS n FROM samples WHERE metric = 'cpu' GROUP BY tag)", "rare")
    rare, page = int(tags) - 10000, STORES.path("rare.html")
    check(int(alone) >= rare > 0, "%s tags, of which %s have one sample" % (tags, alone))
    rarest = {("command " + command, "[rare paths]"): int(count) for command, count in server().ask(
        "SELECT command, sum(count) FROM samples WHERE metric = 'cpu' AND tag NOT IN (SELECT tag FROM samples WHERE metric = 'cpu' GROUP BY "
        "tag ORDER BY sum(count) DESC, tag LIMIT 10000) GROUP BY command", "rare")}
    check(len(rarest) >= 3, "commands with rare paths %r" % rarest)
    for options, wanted in ((), rare), (("--everything",), 0):
        done = subprocess.run([STACKCTL, "flamegraph", "-i", url, "-o", page, *options], stderr=subprocess.PIPE, text=True)
        says = "%d of %d records" % (rare, MANY + 100)
        check(done.returncode == 0 and (says in done.stderr) == bool(wanted), "%r: %s, wanted %s" % (options, done.stderr, says))
        paths = saved_page.paths(saved_page.answer(page, "tree"), "total")
        check(paths[()] == (MANY + 100,), "all %r" % (paths[()],))
        marked = {path: total for path, (total,) in paths.items() if "[rare paths]" in path}
        check(sum(marked.values()) == wanted and (not wanted or marked == rarest), "rare ones %r: %r, wanted %r" % (options, marked, rarest))


def inclusive(database):
    """Of each path of samples the location, and its count with all that it calls; and the paths of rare ones."""
    parents = {(tag, alt): ((parent, parent_alt), location) for tag, alt, parent, parent_alt, location in server().ask(
        "SELECT tag, alt, parent, parent_alt, location FROM paths FORMAT JSONCompact", database)}
    rare, = server().ask("SELECT groupUniqArray(toString(id)) FROM locations WHERE function = '[paths not sent]' FORMAT JSONCompact", database)
    sums = collections.Counter()
    for tag, alt, count in server().ask("SELECT tag, alt, sum(count) FROM samples WHERE metric = 'cpu' GROUP BY tag, alt FORMAT JSONCompact",
                                        database):
        node = (tag, alt)
        while True:
            sums[node] += int(count)
            if node not in parents:
                break
            node = parents[node][0]
    return sums, {node for node, (_, location) in parents.items() if location in rare[0]}


@exports
def test_clickhouse_paths():
    """Rare paths are not sent: what is sent has the sums that it had, and the rest is below marks."""
    for kind in "small", "fleet", "deep", "inferred":
        store = store_of(kind, "web1")
        push(server().make("all"), store, "--paths", "0")
        whole, marks = inclusive("all")
        check(not marks and len(whole) > 3, "%s: %d paths, marks %r" % (kind, len(whole), marks))
        for most in (1, len(whole) // 2, len(whole)):
            says = push(server().make("some"), store, "--paths", str(most))
            some, marks = inclusive("some")
            kept = set(some) - marks
            what = "%s, %d: %r of %r" % (kind, most, some, whole)
            check(all(some[node] == whole[node] for node in kept), "sums: " + what)
            check(len(kept) <= most + 1 and bool(marks) == (most + 1 < len(whole)), "paths: " + what, repr(marks))
            check(("are not sent" in says) == bool(marks), says)
            for count, words in re.findall(r"(\d+) (record.*) below '\[paths not sent\]'", says):
                check(words == ("record on them counts" if count == "1" else "records on them count"), says)
        lines(server().url("some"))


@exports
def test_clickhouse_missing():
    """Each form of a report, and its status, says that the server has lost rows."""
    url, store = server().make("missing"), store_of("small", "web1")
    push(url, store)
    server().ask("ALTER TABLE samples DELETE WHERE command = 'other'", "missing")
    until(lambda: server().ask("SELECT count() FROM samples WHERE command = 'other'", "missing") == [["0"]], "the deletion")
    says = "20 of 100 records (20.0 %) are missing"
    lines(url, status=1, says=says)
    lines(url, "--comm", "prog", status=1, says=says)
    done = subprocess.run([STACKCTL, "report", "--json", "-i", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answer = json.loads(done.stdout)
    check(done.returncode == 1 and answer["missing"] == 20 and says in answer["note"], "JSON", done.stdout)
    picture = STORES.path("missing.html")
    done = subprocess.run([STACKCTL, "flamegraph", "-i", url, "-o", picture], stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and says in done.stderr, done.stderr)
    check(says in json.dumps(saved_page.answer(picture, "recordings")), "the page does not say it")


@exports
def test_clickhouse_meanwhile():
    """Windows that arrive, or grow, before any query of a report: it has them wholly or not at all, and nothing is missing."""
    small, grown, other = store_of("small", "web1"), store_of("metrics", "web1"), store_of("fleet", "web2")
    relay, options = Relay(server().port), ("--by", "host")

    def make():
        push(server().make("meanwhile"), small)

    def more():
        for store in grown, other:
            push(server().url("meanwhile"), store, says="recordings sent: 1")
    make()
    wanted = [lines(server().url("meanwhile", relay.port), *options)]
    asked = [re.search(r"FROM%20(\w+)%20WHERE|$", line).group(1) for line, _, _ in relay.log]
    check({"samples", "totals"} <= set(asked), "questions %r" % asked)
    more()
    wanted.append(lines(server().url("meanwhile"), *options))
    check(wanted[0] != wanted[1], "no more windows", wanted[0])
    for table in "samples", "totals":
        make()
        left = [more]

        def meet(line, table=table, left=left):
            if "FROM%%20%s%%20WHERE" % table in line and left:
                left.pop()()
        relay.meet = meet
        text = lines(server().url("meanwhile", relay.port), *options)
        check(not left and text in wanted, "windows that came before the question for " + table, text)


@exports
def test_clickhouse_report_errors():
    url, store = server().make("wrong"), store_of("small", "web1")
    lines(url, status=2, says="it has no table 'locations': nothing was sent there yet")
    push(url, store)
    lines(url, "--since", "1h", status=3, says="it has nothing of that time and these hosts")
    lines(url, "--host", "db*", status=3, says="it has nothing of that time and these hosts")
    lines(url, "--metric", "wait.blocked", status=3, says="it has no")
    lines(url, "--symbol", "nobody", status=3, says="has no function 'nobody'")
    lines(url, "--by", "process", status=2, says="--by process: a server has sums of samples")
    lines(store, "--event", "cycles", status=2, says="--event chooses from a server's database")
    lines(url, "--pid", "12", status=2, says="--pid is not for a server's database")
    lines(url, "--recording", "1", status=2, says="--recording is not for a server's database")
    lines(url, "--view", "time", status=2, says="a server has only sums of samples")
    lines(store, "--host", "web1", status=2, says="--host chooses from a server's database")
    lines("clickhouse://127.0.0.1:%d/db" % free_port(), status=1, says="nothing can be reached there")
    lines(server().url("nowhere"), status=2, says="the server has no database 'nowhere'")
    for verb in ("export --folded", "timeline", "annotate main"):
        done = subprocess.run([STACKCTL, *verb.split(), "-i", url], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        check(done.returncode == 2 and "this view reads a host's store" in done.stderr, verb, done.stderr)
    # Paths that are not there are said to be missing, and their samples shown.
    server().ask("ALTER TABLE paths DELETE WHERE tag = 13152310680471548235", "wrong")
    until(lambda: server().ask("SELECT count() FROM paths WHERE tag = 13152310680471548235", "wrong") ==
          [["0"]], "the deletion")
    text = lines(url, status=1, says="the paths of 79 samples are not in " + url)
    check_parts("all: 100 samples", text)
    check_parts("79.0%   79.0%  [no frames]", text)


# --- what goes wrong ------------------------------------------------------------------------------

@exports
def test_clickhouse_cut_off():
    """A connection that is lost at any request: an error, and the next push makes it whole."""
    relay, store = Relay(server().port), store_of("fleet", "web1")
    wanted = as_seen(Source(store).samples())
    server().make("cut")
    relay.reset(None, None)
    push(server().url("cut", relay.port), store, says="recordings sent: 1")
    requests = relay.requests
    check(requests >= 8, "%d requests" % requests)
    moments = ("before", "middle", "after")
    for lost in range(requests):
        is_all = LONG or lost == requests - 1  # the request that makes the recording count
        if not is_all and lost % 3:
            continue
        for when in moments if is_all else moments[lost // 3 % len(moments):][:1]:
            server().make("cut")
            relay.reset(lost, when)
            push(server().url("cut", relay.port), store, status=1, says="the connection broke off")
            got = counted("cut", "web1") if server().ask("EXISTS TABLE windows", "cut") == [["1"]] and \
                server().ask("EXISTS TABLE samples", "cut") == [["1"]] else []
            check(not got or without_labels(got) and lost == requests - 1 and when == "after",
                  "request %d, %s: a part counts" % (lost, when), got)
            was_there = bool(got)
            push(server().url("cut"), store, says="recordings sent: %d" % (not was_there))
            same(without_labels(counted("cut", "web1")), wanted, "request %d, %s" % (lost, when))


@exports
def test_clickhouse_two_pushers():
    url, store = server().make("two"), store_of("windows", "web1")
    pushers = [subprocess.Popen([STACKCTL, "push", url, "-i", store], stderr=subprocess.DEVNULL)
               for _ in range(4)]
    for pusher in pushers:
        check(pusher.wait(PATIENCE) == 0, "a pusher failed")
    wanted = []
    for number in range(1, 7):
        wanted += Source(store, "--recording", str(number)).samples()
    same(without_labels(counted("two", "web1")), as_seen(wanted), "two pushers")


@exports
def test_clickhouse_errors():
    url, store = server().make("errors"), store_of("small", "web1")
    push(server().url("nowhere"), store, status=2,
         says="the server has no database 'nowhere': make it first, by CREATE DATABASE nowhere")
    push("clickhouse://127.0.0.1:%d/db" % free_port(), store, status=1,
         says="nothing can be reached there: is the server running")
    push("clickhouse://no-such-host.invalid/db", store, status=1, says="there is no host 'no-such-host.invalid'")
    push(url, store, status=4, says="the server does not let user 'pusher' in", CLICKHOUSE_USER="pusher",
         CLICKHOUSE_PASSWORD="wrong")
    push(server().url("errors", user="nobody@"), store, status=4, says="does not let user 'nobody' in")
    push(server().url("errors", user="reader@"), store, status=4,
         says="user 'reader' may not do that: grant INSERT, SELECT and CREATE TABLE in 'errors'")
    push("clickhouse://127.0.0.1:%d/db" % page(500, b"Code: 241, e.displayText() = Memory limit\nx"),
         store, status=1, says="the server failed with status 500: Code: 241, e.displayText() = Memory limit")
    push("clickhouse://127.0.0.1:%d/db" % page(503, b""), store, status=1, says="status 503: it does not say why")
    push("clickhouse://127.0.0.1:%d/db" % page(200, b"<html>hello</html>\n"), store, status=1,
         says="the server made the table 'locations', and does not have it")
    check(server().ask("SHOW TABLES", "errors") == [], "a failed push made tables")
    push(url, store, says="recordings sent: 1", CLICKHOUSE_USER="pusher", CLICKHOUSE_PASSWORD="secret")
    # A function that is named like the password is no secret.
    rename("errors", "app::work()", "secret")
    done = subprocess.run([STACKCTL, "report", "-i", url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, CLICKHOUSE_USER="pusher", CLICKHOUSE_PASSWORD="secret"))
    check(done.returncode == 0 and "secret" in done.stdout and "**" not in done.stdout, done.stdout)
    push(url, STORES.path("nothing.db"), status=2, says="nothing.db")
    check_layouts(store)
    check_usage(url, store)
    check_credentials(store)


def check_layouts(store):
    for change, says in (("DROP COLUMN count", "lacks the column count UInt64"),
                         ("MODIFY COLUMN count UInt32", "has the column count UInt32")):
        url = server().make("layout")
        push(url, store)
        server().ask("ALTER TABLE samples " + change, "layout")
        before = everything("layout")
        push(url, store_of("small", "web2"), status=2,
             says="its table 'samples' is of another version of stackctl, or of another program: it " + says)
        check(everything("layout") == before, "tables of another layout were changed")
    url = server().make("shards")
    server().ask("CREATE TABLE samples AS layout.samples ENGINE = Distributed(alone, layout, samples, tag)", "shards")
    push(url, store, status=2, says="its table 'samples' is Distributed")
    lines(url, status=2, says="its table 'samples' is Distributed")
    check(server().ask("SHOW TABLES", "shards") == [["samples"]], "a refused push made tables")


def check_usage(url, store):
    for wrong, says in (("clickhouse://127.0.0.1", "it names no database"),
                        ("clickhouse://127.0.0.1/", "it names no database"),
                        ("clickhouse://:8123/db", "it has no host"),
                        ("clickhouse://a:0/db", "the port is not a number from 1 to 65535"),
                        ("clickhouse://a/d b", "a database's name has letters"),
                        ("http://a/db", "it does not begin with clickhouse://"),
                        ("clickhouse://me:hush@a/db", "put it into CLICKHOUSE_PASSWORD")):
        said = push(wrong, store, status=2, says=says)
        check("hush" not in said, "the password is shown", said)
    push(server().url("nowhere"), store, "--follow", status=2, says="the server has no database 'nowhere'")
    push(url, store, "--follow", "--every", "often", status=2, says="'often' is not a time such as 30s")
    done = subprocess.run([STACKCTL, "push"], stderr=subprocess.PIPE, text=True)
    check(done.returncode == 2 and "give a server" in done.stderr, done.stderr)


def check_credentials(store):
    path = STORES.path("credentials")
    for text, mode, status, says in (
            ("# of the fleet\nuser = pusher\npassword = secret\n", 0o600, 0, "recordings sent: 1"),
            ("user=pusher\npassword=secret", 0o640, 2, "other users can read these credentials"),
            ("user pusher\n", 0o600, 2, "credentials:1: expected 'user = NAME'"),
            ("user = pusher\npassword = \n", 0o600, 4, "does not let user 'pusher' in")):
        url = server().make("credentials")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        push(url, store, "--credentials", path, status=status, says=says, CLICKHOUSE_USER="ignored")
    push(url, store, "--credentials", path + "-not", status=2, says="cannot open")


@exports
def test_clickhouse_tls():
    """A server's certificate is verified, by the authority that the credentials name."""
    need("openssl")
    server().make("tls")
    relay, store = TlsRelay(server().port, STORES.folder), store_of("small", "web1")
    credentials = STORES.path("tls-credentials")
    for host, text, status, says in (
            ("127.0.0.1", "user = default\n", 1, "certificate"),
            ("localhost", "ca = %s\n" % relay.certificate, 1, "host name 'localhost'"),
            ("127.0.0.1", "ca = %s\n" % STORES.path("nothing.pem"), 1, "nothing.pem"),
            ("127.0.0.1", "ca = %s\n" % relay.certificate, 0, "recordings sent: 1")):
        with open(credentials, "w", encoding="ascii", opener=lambda *a: os.open(*a, 0o600)) as file:
            file.write(text)
        url = "clickhouses://%s:%d/tls" % (host, relay.port)
        push(url, store, "--credentials", credentials, status=status, says=says)
    text = lines(url, "--credentials", credentials)
    check(text == lines(store, "--by", "all"), "a report by TLS", text)


# --- a service ------------------------------------------------------------------------------------

def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, what + " did not come about")
        time.sleep(0.1)


@exports
def test_clickhouse_follow():
    """The server is away at first, and for a while in between; recordings come one after the other."""
    server().make("follow")
    relay_port, store = free_port(), STORES.path("follow.db")
    os.environ["STORE_HOST"] = "web1"
    STORES.make(store, "small")
    url = server().url("follow", relay_port)
    with open(STORES.path("follow.log"), "w+", encoding="utf-8") as log, \
            subprocess.Popen([STACKCTL, "push", url, "-i", store, "--follow", "--every", "100ms"],
                             stderr=log) as follower:
        try:
            until(lambda: "nothing can be reached there" in read(log), "the complaint")
            with Forward(relay_port, server().port):
                until(lambda: hosts_windows() == 1, "the first recording")
                STORES.make(store, "after")
                until(lambda: hosts_windows() == 2, "the second recording")
            STORES.make(store, "fleet")
            STORES.make(store, "cut")  # not finished, but long ago
            with Forward(relay_port, server().port):
                until(lambda: hosts_windows() == 4, "what came while the server was away")
                check(follower.poll() is None, "it ended")
        finally:
            follower.terminate()
            del os.environ["STORE_HOST"]
    wanted = []
    for number in range(1, 5):
        wanted += Source(store, "--recording", str(number)).samples()
    same(without_labels(counted("follow", "web1")), added_up(as_seen(wanted)), "follow")


@exports
def test_clickhouse_sent_once():
    """Rows go compressed, and what is known of the server from one window is not asked for the next one."""
    with_relay = Relay(server().port)
    server().make("once")
    url = server().url("once", with_relay.port)
    said = push(url, store_of("names", "web1"))
    rows = int(re.search(r"(\d+) bytes", said).group(1))
    sent = sum(size for line, size, _ in with_relay.log if "INSERT%20INTO%20locations" in line)
    check(0 < sent < rows / 2, "%d bytes were sent for %d of rows" % (sent, rows))
    with_relay.log.clear()
    push(url, store_of("windows", "web1"), says="recordings sent: 6")
    asked = [size for line, size, _ in with_relay.log if "FROM%20paths" in line]
    check(len(asked) == 1, "bytes of the questions for paths: %r" % asked)  # the next windows have no new ones
    with_relay.log.clear()
    push(url, store_of("names", "web2"))
    paths = [size for line, size, _ in with_relay.log if "max_query_size" in line or "INSERT%20INTO%20paths" in line]
    check(not paths, "bytes of paths that the server has from another host: %r" % paths)


@exports
def test_clickhouse_emptied():
    """What a follower knows of the server is forgotten when its tables have been emptied."""
    url, store = server().make("emptied"), STORES.path("emptied.db")
    STORES.make(store, "small")
    windows = "SELECT uniq(window) FROM windows"

    def has(count):
        return server().ask("EXISTS TABLE windows", "emptied") == [["1"]] and \
            server().ask(windows, "emptied") == [[str(count)]]

    with subprocess.Popen([STACKCTL, "push", url, "-i", store, "--follow", "--every", "100ms"],
                          stderr=subprocess.DEVNULL) as follower:
        try:
            until(lambda: has(1), "the first recording")
            for table in ("paths", "locations", "samples", "windows"):
                server().ask("TRUNCATE TABLE " + table, "emptied")
            until(lambda: has(1), "the first recording again")
            STORES.make(store, "after")
            until(lambda: has(2), "the second recording")
        finally:
            follower.terminate()
    for table, wanted in (("paths", Source(store, "--recording", "1..2").paths()),
                          ("locations", Source(store, "--recording", "1..2").locations())):
        same(server().ask("SELECT DISTINCT %s FROM %s FORMAT JSONCompact" % (columns_of(table), table),
                          "emptied"), wanted, table)


def read(log):
    log.seek(0)
    return log.read()


def hosts_windows():
    if server().ask("EXISTS TABLE windows", "follow") != [["1"]]:
        return 0
    return int(server().ask("SELECT uniq(window) FROM windows", "follow")[0][0])


class Forward(Relay):
    """A relay at a port of ours, which loses nothing."""

    def __init__(self, port, to):
        self.at = port
        super().__init__(to)

    def server_bind(self):
        self.server_address = ("127.0.0.1", self.at)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
