# SPDX-License-Identifier: MIT
"""stackctl push where a server or a store is not as it should be: slow, full, of a newer version, of others,
with wrong clocks. Nothing is lost, nothing counts twice, and what is wrong is said."""

import os
import shutil
import sqlite3
import subprocess
import time

import test_clickhouse
import test_servers
from clickhouse import Relay, Server, free_port
from common import PATIENCE, STACKCTL, STORES, Skip, check, exports
from servers import Otlp, Parca, Pyroscope
from tables import COLUMNS, Source, same, without_labels
from test_clickhouse import as_seen, counted, everything, lines, server, store_of, until

KINDS = (Pyroscope, Parca, Otlp)


def push(url, store, *options, status=0, says=""):
    """To a server of any kind."""
    if url.startswith("clickhouse"):
        return test_clickhouse.push(url, store, *options, status=status, says=says)
    return test_servers.push(url, store, *options, status=status, says=says)


def wanted_of(store, recordings=("1",)):
    return as_seen([row for number in recordings for row in Source(store, "--recording", number).samples()])


def change(store, *statements):
    with sqlite3.connect(store, timeout=PATIENCE) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


# --- slow ----------------------------------------------------------------------------------------

@exports
def test_bad_clickhouse_slow():
    """A server that has taken a request and never answers: given up, and whole the next time."""
    relay, store = Relay(server().port), store_of("fleet", "web1")
    server().make("slow")
    push(server().url("slow", relay.port), store, says="recordings sent: 1")
    for silent in (0, relay.requests // 2, relay.requests - 1):  # the last one is the window's row
        server().make("slow")
        relay.reset(silent, "silence")
        push(server().url("slow", relay.port), store, "--timeout", "1s", status=1,
             says="the server does not answer in time")
        push(server().url("slow"), store)
        same(without_labels(counted("slow", "web1")), wanted_of(store), "request %d" % silent)
    push(server().url("slow"), store, "--timeout", "soon", status=2, says="'soon' is not a time such as 30s")


@exports
def test_bad_servers_slow():
    for kind in KINDS:
        receiver, store = kind(), test_servers.store_of("small")
        receiver.faults = {0: "silence"}
        push(receiver.url(), store, "--timeout", "1s", status=1,
             says="the server does not answer in time.*it counts twice when it is sent again")
        until(lambda: receiver.sums.requests, "the request")  # a busy server reads it after stackctl has gone
        check(receiver.number == 1, "a request that may have been taken was made again at once")
        push(receiver.url(), store, says="recordings sent: 1")
        times = 1 if kind is Otlp else 2  # only OTLP's have an id
        check(sum(receiver.sums.paths.values()) == 100 * times, "%r" % receiver.sums.paths)


# --- full ----------------------------------------------------------------------------------------

def make_disk(folder, size):
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "stackd-test", folder],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise Skip("no file system can be mounted: " + done.stderr.strip())


@exports
def test_bad_clickhouse_full():
    """A server whose disk is full, and has room again: said, and whole then."""
    folder, store = STORES.path("disk"), store_of("fleet", "web1")
    make_disk(folder, "300m")
    small = None
    try:
        small = Server(folder, on_disk=True)
        url = small.make("full")
        push(url, store_of("empty", "host-empty"), says="recordings sent: 1")  # makes the tables
        left = os.statvfs(folder)
        with open(os.path.join(folder, "filling"), "wb") as file:
            file.write(b"\0" * (left.f_bavail * left.f_bsize))
        push(url, store, status=1, says="the server's disk is full")
        check(small.ask("SELECT count() FROM windows WHERE host = 'web1'", "full") == [["0"]], "it counts")
        os.remove(os.path.join(folder, "filling"))
        push(url, store, says="recordings sent: 1")
        check(small.ask("SELECT sum(count) FROM samples WHERE host = 'web1' AND push IN (SELECT push FROM windows)",
                        "full") == [["40"]], "samples")
    finally:
        if small:
            small.stop()
        subprocess.run(["umount", folder], check=True)


@exports
def test_bad_servers_full():
    for kind in KINDS:
        receiver, store = kind(), test_servers.store_of("small")
        receiver.faults = {number: (507, "no space left on device") for number in range(5)}
        push(receiver.url(), store, status=1, says="the server failed with status 507: no space left on device")
        check(receiver.number == (2 if kind is Otlp else 5), "%d tries" % receiver.number)
        receiver.faults, receiver.refused = {}, []
        push(receiver.url(), store, says="recordings sent: 1")
        test_servers.same(receiver, test_servers.folded(store), kind.scheme)


# --- stores and tables of others -----------------------------------------------------------------

@exports
def test_bad_store_newer():
    """Neither kind of server gets anything of a store that this program does not know."""
    store = test_servers.store_of("small")
    change(store, "PRAGMA user_version = 999")
    receiver, url = Pyroscope(), server().make("newer")
    for target in (receiver.url(), url):
        push(target, store, status=2, says="store version 999 is newer than")
    check(receiver.number == 0 and server().ask("SHOW TABLES", "newer") == [], "something was sent")


@exports
def test_bad_clickhouse_dropped():
    """A server that fails where it lists its tables, since another push is dropping one of them: asked again, but not
    for ever. Here it is asked for a table that is not there instead, so often."""
    relay, store = Relay(server().port), store_of("fleet", "web1")
    left = 0

    def ask_for_a_dropped_one(request):
        nonlocal left
        changed = request.replace(b"system.columns", b"dropped", 1) if left else request
        left -= changed != request
        return changed

    relay.change = ask_for_a_dropped_one
    for times, status in ((3, 0), (1000, 1)):
        server().make("dropped")
        left = times
        push(server().url("dropped", relay.port), store, status=status,
             says="Table dropped.dropped doesn't exist" if status else "recordings sent: 1")
        check(left > 900 if status else not left, "the tables were not asked for again, or for ever: %d" % left)
    left = 0
    push(server().url("dropped", relay.port), store, says="recordings sent: 1")
    same(without_labels(counted("dropped", "web1")), wanted_of(store), "after a failure")


@exports
def test_bad_clickhouse_layout():
    """Tables of an older layout are neither read nor written to, by no verb."""
    url, store = server().make("older"), store_of("small", "web1")
    push(url, store, says="recordings sent: 1")
    server().ask("ALTER TABLE windows DROP COLUMN finished", "older")
    before = everything("older")
    wrong = "its table 'windows' is of another version of stackctl"
    for arguments in (("report",), ("diff", "web1", "web1"), ("flamegraph", "-o", STORES.path("no.html")),
                      ("flamegraph", "--diff", "web1", "-o", STORES.path("no.html"))):
        done = subprocess.run([STACKCTL, *arguments, "-i", url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        check(done.returncode == 2 and wrong in done.stderr and not done.stdout, "%r" % (arguments,), done.stderr)
    push(url, store, status=2, says=wrong)
    push(url, store, "--follow", status=2, says=wrong)
    check(everything("older") == before, "something changed")


def copy_samples(database, into, behind="", **changes):
    """Samples again, with other values in some columns."""
    names = list(COLUMNS["samples"]) + ["push"]
    server().ask("INSERT INTO %s.samples (%s) SELECT %s FROM samples %s" % (
        into, ", ".join("`%s`" % name for name in names),
        ", ".join(changes.get(name, "`%s`" % name) for name in names), behind), database)


@exports
def test_bad_clickhouse_tenants():
    """Tables of others beside ours are not touched, and rows of others in ours neither count nor do harm."""
    url, store = server().make("tenants"), store_of("fleet", "web1")
    server().ask("CREATE TABLE orders (id UInt64, host String) ENGINE = MergeTree() ORDER BY id", "tenants")
    server().ask("INSERT INTO orders VALUES (1, 'web1')", "tenants")
    push(url, store, says="recordings sent: 1")
    before = lines(url)
    copy_samples("tenants", "tenants", push="push + 1", host="'web2'")  # of no window
    # A path that is its own parent, one that has none, and locations of a kind that there is not and of none.
    server().ask("INSERT INTO paths (tag, alt, parent, parent_alt, location, location_alt) VALUES (77, 0, 77, 0, 1, 0), (78, 0, 79, 0, 2, 0), (80, 0, 0, 0, 3, 0)", "tenants")
    server().ask("INSERT INTO locations (id, alt, inlined, kind, file_id, offset, object) "
                 "VALUES (1, 0, 0, 'fish', 1, 1, 'x'), (2, 0, 0, 'elf', 1, 1, 'x')", "tenants")
    check(lines(url) == before, "rows of others count")
    lines(url, "--host", "web2", status=3, says="it has nothing of that time and these hosts")
    push(url, store_of("small", "web3"), says="recordings sent: 1")
    check(lines(url, "--host", "web1") == before, "rows of others count after a push")
    check(server().ask("SELECT * FROM orders", "tenants") == [["1", "web1"]], "the others' table")


@exports
def test_bad_clickhouse_rows():
    """Samples of a push that counts whose paths are impossible: shown as far as they go, or refused; said."""
    url, store = server().make("rows"), store_of("fleet", "web1")
    push(url, store, says="recordings sent: 1")
    server().ask("INSERT INTO paths (tag, alt, parent, parent_alt, location, location_alt) VALUES (77, 0, 77, 0, 1, 0), (78, 0, 79, 0, 2, 0), (80, 0, 0, 0, 3, 0), "
                 "(81, 0, 82, 0, 2, 0), (82, 0, 81, 0, 2, 0)", "rows")
    server().ask("INSERT INTO locations (id, alt, inlined, kind, file_id, offset, object) "
                 "VALUES (1, 0, 0, 'fish', 1, 1, 'x'), (2, 0, 0, 'elf', 1, 1, 'x')", "rows")
    for changes in ({"tag": "77"}, {"tag": "78"}, {"tag": "79"}, {"tag": "80"}, {"tag": "81"}, {"reason": "'fish'"},
                    {"quality": "'fish'"}, {"inferred": "4000000000"}, {"count": "18446744073709551615"}):
        other = server().make("others")
        push(other, store, says="recordings sent: 1")
        for table in ("paths", "locations"):
            server().ask("INSERT INTO others.%s SELECT * FROM %s" % (table, table), "rows")
        copy_samples("others", "others", "LIMIT 1", **{"count": "4", **changes})
        done = subprocess.run([STACKCTL, "report", "-i", other], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
        print(changes, done.returncode, done.stdout, done.stderr)
        is_partial = "tag" in changes or len(changes.get("count", "")) > 9  # where its sum begins anew
        check(done.returncode == is_partial and "twin" in done.stdout, "%r: %d" % (changes, done.returncode), done.stderr)
        check("tag" not in changes or "the paths of 4 samples are not in" in done.stderr, "%r: not said" % changes)


# --- clocks --------------------------------------------------------------------------------------

def set_clock(store, ahead_s):
    """Puts a store's recordings, whose times are of 2023, to now and that much ahead; the last one ends now."""
    with sqlite3.connect(store, timeout=PATIENCE) as database:
        database.execute("UPDATE recordings SET finished = 1, start_unix_ns = start_unix_ns + (SELECT ? - "
                         "max(start_unix_ns + end_ns - start_ns) FROM recordings)",
                         (int((time.time() + ahead_s) * 1e9),))
    database.close()


@exports
def test_bad_clickhouse_clocks():
    """Hosts whose clocks are an hour off: each window once, at the time that its host said."""
    url = server().make("clocks")
    for host, ahead_s in (("early", -3600), ("right", 0), ("late", 3600)):
        store = STORES.path("clock-%s.db" % host)
        shutil.copy(store_of("windows", host), store)
        set_clock(store, ahead_s)
        push(url, store, says="recordings sent: 6")
        push(url, store, says="recordings sent: 0")
    check("all: 1800 samples" in lines(url), lines(url))
    recent = lines(url, "--since", "5m", "--by", "host")  # a window that goes on in that time counts
    check("host right: 100 samples" in recent and "host late: 600 samples" in recent and "early" not in recent, recent)
    # A clock that is set back between two windows: the second begins in the first one's time.
    with sqlite3.connect(store, timeout=PATIENCE) as database:
        database.execute("UPDATE recordings SET start_unix_ns = start_unix_ns - 3600000000000 WHERE id > 3")
    database.close()
    url = server().make("clocks")
    push(url, store, says="recordings sent: 6")
    check("all: 600 samples" in lines(url), lines(url))


@exports
def test_bad_servers_clocks():
    """Pyroscope refuses what is an hour old, or of the future: that is said, keeps nothing else from it, and is
    not lost."""
    receiver, store = Pyroscope(), test_servers.store_of("windows")
    receiver.has_window = True
    set_clock(store, -1500)  # the first three began more than an hour ago
    push(receiver.url(), store, status=2, says="recording 1, cpu: .*outside of the ingestion window\n(.*\n)*"
         ".*: recordings refused, in part or as a whole: 3; the next push tries them again")
    check(sum(receiver.sums.paths.values()) == 300, "%r" % receiver.sums.paths)
    receiver.has_window = False
    push(receiver.url(), store, says="recordings sent: 3 .*; sent before: 3")
    check(sum(receiver.sums.paths.values()) == 600, "%r" % receiver.sums.paths)
    receiver, store = Pyroscope(), test_servers.store_of("windows")
    receiver.has_window = True
    set_clock(store, 7200)
    push(receiver.url(), store, status=2, says="recordings refused, in part or as a whole: 6;")
    with started(receiver.url(), store) as service:  # none was ever taken: something is wrong
        check(service.wait(PATIENCE) == 2, "a service that sends nothing goes on")
    set_clock(store, 60)
    with started(receiver.url(), store) as service:
        until(lambda: receiver.sums.requests == 6, "the windows of a clock that was set right")
        check(service.poll() is None, "it ended")
        service.terminate()
    check(sum(receiver.sums.paths.values()) == 600, "%r" % receiver.sums.paths)


# --- services ------------------------------------------------------------------------------------

def started(url, store, *options):
    log = open(STORES.path("service.log"), "w+", encoding="utf-8")  # pylint: disable=consider-using-with
    process = subprocess.Popen([STACKCTL, "push", url, "-i", store, "--follow", "--every", "100ms", *options],
                               stdin=subprocess.DEVNULL, stderr=log)
    process.log = log
    return process


def said(service):
    service.log.seek(0)
    return service.log.read()


@exports
def test_bad_deleted():
    """Recordings that the store's limits delete while the server is away are counted, for both kinds."""
    for scheme in ("clickhouse", "pyroscope"):
        port, store = free_port(), STORES.path("deleted-%s.db" % scheme)
        shutil.copy(STORES.get("windows"), store)
        url = "%s://127.0.0.1:%d" % (scheme, port) + ("/db" if scheme == "clickhouse" else "")
        with started(url, store) as service:
            until(lambda: "nothing can be reached" in said(service), "the complaint")
            change(store, "DELETE FROM recordings WHERE id <= 2")
            until(lambda: "2 recordings were deleted from the store before the server had taken them" in said(service),
                  "their number")
            service.terminate()
        check("deleted" not in said(service).split("taken them", 1)[1], "counted twice", said(service))
    # What it has taken, and what was not asked for, may go.
    receiver, store = Pyroscope(), test_servers.store_of("windows")
    with started(receiver.url(), store, "--recording", "2..4") as service:
        until(lambda: receiver.sums.requests == 3, "the windows")
        change(store, "DELETE FROM recordings WHERE id <= 5")
        time.sleep(0.5)
        service.terminate()
    check("deleted" not in said(service), "none waited", said(service))


@exports
def test_bad_servers_two_pushers():
    """A second push of the same store to a server of profiles waits for none, and sends nothing twice."""
    receiver, store = Pyroscope(), test_servers.store_of("windows")
    receiver.faults = {0: "held"}
    first = subprocess.Popen([STACKCTL, "push", receiver.url(), "--timeout", "600s", "-i", store],
                             stderr=subprocess.DEVNULL)
    until(lambda: receiver.number == 1, "the first push")
    push(receiver.url(), store, status=1, says="another stackctl is pushing with this file: wait for it")
    receiver.release.set()
    check(first.wait(PATIENCE) == 0, "the first push failed")
    push(receiver.url(), store, says="sent before: 6")
    test_servers.same(receiver, test_servers.folded(store, "--recording", "1..6"), "two pushers")
