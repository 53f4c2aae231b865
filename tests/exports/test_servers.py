# SPDX-License-Identifier: MIT
"""stackctl push to servers of profiles: what they have taken against the store's own folded stacks, whatever goes
wrong on the way."""

import base64
import collections
import fcntl
import glob
import os
import re
import select
import shutil
import sqlite3
import subprocess
import termios
import time

from clickhouse import TlsRelay, free_port
from common import PATIENCE, STACKCTL, STORES, check, compare, export, exports, is_even, need, report, run
from servers import MOST_SAMPLES, Counter, Otlp, Parca, Pyroscope, PyroscopeOtlp

KINDS = (Pyroscope, Parca, Otlp)
LABELS = {"comm", "cgroup", "service", "namespace", "pod", "container", "thread.name"}


def store_of(kind):
    """A copy of a store, to which nothing has been sent."""
    path = STORES.path("push-%s.db" % kind)
    # What a test has changed stays in a -wal if a reader had the store open meanwhile, and would be in the copy.
    for old in glob.glob(path + "*"):
        os.remove(old)
    shutil.copy(STORES.get(kind), path)
    return path


def push(url, store, *options, status=0, says="", **environment):
    """Standard error of a push, which must end so."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith("STACKD_PUSH") and not name.lower().endswith("_proxy")}
    done = subprocess.run([STACKCTL, "push", url, "-i", store, *options], timeout=PATIENCE, text=True,
                          env=dict(clean, **environment), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode == status, "push ended with %d, not %d" % (done.returncode, status), done.stderr)
    check(re.search(says, done.stderr), "push does not say %r" % says, done.stderr)
    check(not done.stdout, "standard output", done.stdout)
    check("secret" not in done.stderr, "the password is shown", done.stderr)
    return done.stderr


def folded(store, *options):
    """{(command, root, ..., leaf): samples}"""
    rows = collections.Counter()
    with open(export(store, "folded", *options), encoding="utf-8") as file:
        for line in file:
            path, count = line.rstrip("\n").rsplit(" ", 1)
            rows[tuple(path.split(";"))] += int(count)
    return rows


def same(receiver, wanted, what):
    check(not receiver.refused, "%s: refused: %r" % (what, receiver.refused))
    compare(receiver.sums.paths, wanted, what)


@exports
def test_servers_push():
    """Call paths of every kind of store; once, however often it is pushed."""
    for server in KINDS:
        for kind in ("small", "inferred", "metrics", "waits", "heap", "fleet", "managed", "real"):
            receiver, store = server(), store_of(kind)
            push(receiver.url(), store, says="recordings sent: 1 .* requests, 0 made again")
            requests = receiver.sums.requests
            wanted = folded(store)
            got = {path: count for path, count in receiver.sums.paths.items() if count}
            receiver.sums.paths = collections.Counter(got)
            if is_even(store):
                same(receiver, wanted, "%s, %s" % (server.scheme, kind))
            check(receiver.sums.labels <= LABELS, "labels %r" % receiver.sums.labels)
            push(receiver.url(), store, says="recordings sent: 0 .*; sent before: 1")
            check(receiver.sums.requests == requests, "sent twice")
        for kind in ("hostile", "names", "deep"):  # folded stacks escape more
            receiver, store = server(), store_of(kind)
            push(receiver.url(), store, says="recordings sent: 1")
            check(sum(receiver.sums.paths.values()) == report(store)["samples"], kind)
            check(not receiver.refused, kind + ": %r" % receiver.refused)
        receiver, store = server(), store_of("empty")
        push(receiver.url(), store, says=r"recordings sent: 1 \(0 samples")
        check(receiver.number == 0, "nothing was sent")
    metrics, others = Pyroscope(), Otlp()
    push(metrics.url(), store_of("metrics"), "--app", "shop/web", says=r"sent: 1 \(100 samples")
    check(metrics.names == {"shop/web{host=box}"}, "names %r" % metrics.names)
    check(metrics.sums.values[("region_time", "nanoseconds")] == 10_000_000 and
          metrics.sums.values[("cpu", "nanoseconds")] > 0, "values %r" % metrics.sums.values)
    push(others.url(), store_of("metrics"), "--app", "shop/web")
    check(set(next(iter(others.names))) >= {("service.name", "shop/web"), ("host.name", "box")}, others.names)
    check(others.sums.values == +metrics.sums.values, "values %r" % others.sums.values)


@exports
def test_servers_resources():
    """Each container and each unit is a resource, with a profile of its own."""
    receiver, store = Otlp(), store_of("fleet")
    push(receiver.url(), store, says="recordings sent: 1")
    places = {name: value for resource in receiver.names for name, value in resource if name.startswith(("container.", "systemd."))}
    check(len(receiver.names) == 3, "resources", receiver.names)
    check(places == {"systemd.unit": "nginx.service", "container.id": "0123456789abcdef" * 4}, "places", places)
    same(receiver, folded(store), "resources")
    receiver, store = Otlp(), store_of("labels")
    push(receiver.url(), store, "--app", "app", says="recordings sent: 1")
    services = {resource["service.name"]: resource for resource in map(dict, receiver.names)}
    check(set(services) == {"shop", "nginx", "app"}, "services", services)
    check(services["nginx"]["k8s.pod.name"] == "web-1" and services["nginx"]["k8s.namespace.name"] == "web" and
          services["nginx"]["env"] == services["shop"]["env"] == "prod" and "env" not in services["app"], "labels", services)
    same(receiver, folded(store), "labels")
    for server in Pyroscope, Parca:
        receiver, store = server(), store_of("labels")
        push(receiver.url(), store, says="recordings sent: 1")
        check(receiver.sums.labels == {"comm", "cgroup", "service", "namespace", "pod", "container"}, receiver.sums.labels)
        same(receiver, folded(store), "labels")


@exports
def test_servers_limits():
    """A server that takes some resources and asks for others again later gets none twice."""
    for kind in "fleet", "labels":
        receiver, store = PyroscopeOtlp(), store_of(kind)
        receiver.limited = {2, 4}
        push(receiver.url(), store, says="recordings sent: 1 .* requests, 2 made again")
        check(len(receiver.names) == 3, "resources", receiver.names)
        receiver.refused = []
        same(receiver, folded(store), kind)


@exports
def test_servers_by_label():
    """A store divided and chosen by labels."""
    store = store_of("labels")
    for by, wanted in (("service", {"shop": 10, "[no service]": 30}), ("namespace", {"web": 12, "[no namespace]": 28}),
                       ("pod", {"web-1": 12, "[no pod]": 28}), ("label:env", {"prod": 22, "[no env]": 18})):
        parts = report(store, "--by", by)["parts"]
        check({part[by.split(":")[0]]: part["samples"] for part in parts} == wanted, "%s: %r" % (by, parts))
    for labels, samples in ((("env=prod",), 22), (("env=p*", "pod=web-?"), 12), (("env=",), 18), (("service=shop",), 10)):
        got = report(store, *(word for label in labels for word in ("--label", label)))
        check(got["samples"] == samples, "%r: %d" % (labels, got["samples"]))


@exports
def test_servers_kinds():
    """What executes each function's code, by the words of the conventions, which have none for JIT code."""
    receiver = Otlp()
    push(receiver.url(), store_of("managed"), says="recordings sent: 1")
    check(receiver.types["parse"] == ("cpython", "/srv/app.py", 9, ""), receiver.types["parse"])
    wanted = {"main": "native", "next_token": "native", "work": "cpython", "do_sys": "kernel", "stub": None}
    types = {name: receiver.types[name][0] for name in wanted}
    check(types == wanted, "types %r" % types)


@exports
def test_servers_windows():
    """Each window once; the same store to two servers; a folder in front."""
    one, two, store = Pyroscope(), Parca(), store_of("windows")
    push(one.url(), store, "--recording", "2..3", says="recordings sent: 2")
    push(one.url("/"), store, says="recordings sent: 4 .*; sent before: 2")
    push(one.url(), store, says="recordings sent: 0 .*; sent before: 6")
    push(two.url(), store, says="recordings sent: 6")
    wanted = folded(store, "--recording", "1..6")
    same(one, wanted, "windows, Pyroscope")
    same(two, wanted, "windows, Parca")
    one.path = "/below/ingest"
    push(one.url("/below/"), store, says="recordings sent: 6")
    check(sum(one.sums.paths.values()) == 2 * sum(wanted.values()), "another server's")


@exports
def test_servers_faults():
    """Failures that pass, and a connection that breaks off: nothing is lost, and nothing counts twice."""
    for server, faults in ((Pyroscope, ((500, "oops"), (429, "slow down"), "drop")),
                           (Parca, ((503, "wait"), "drop")), (Otlp, ((503, "wait"), "drop"))):
        for fault in faults:
            receiver, store = server(), store_of("small")
            times = 2 if fault == faults[0] else 1
            receiver.faults = dict.fromkeys(range(times), fault)
            push(receiver.url(), store, says="requests, %d made again" % times)
            receiver.refused = []
            same(receiver, folded(store), "%s, %r" % (server.scheme, fault))
    receiver, store = Pyroscope(), store_of("small")
    receiver.faults = {number: (500, "a\nb\x1b[1m") for number in range(9)}
    push(receiver.url(), store, status=1, says="the server failed with status 500: a\n")
    check(receiver.number == 5, "%d tries" % receiver.number)
    receiver.faults, receiver.refused = {}, []
    push(receiver.url(), store, says="recordings sent: 1")
    same(receiver, folded(store), "the next time")
    receiver = Parca()  # whose messages are JSON
    receiver.faults = {0: (400, "a\u00e9\nb")}
    push(receiver.url(), store_of("small"), status=2, says="refuses this with status 400: a\u00e9\n")
    receiver = Otlp()  # its specification forbids that for a plain 500
    receiver.faults = {0: (500, "oops")}
    push(receiver.url(), store, status=1, says="the server failed with status 500: oops")
    check(receiver.number == 2, "%d requests of two profiles" % receiver.number)
    push(receiver.url(), store, says="recordings sent: 1")
    check(receiver.number == 3 and not receiver.twice, "sent again: what had been taken")


@exports
def test_servers_ids():
    """A receiver of OTLP can tell what it has taken before: the answer was lost, or the notes were."""
    receiver, store = Otlp(), store_of("metrics")
    receiver.faults = {0: "after"}
    push(receiver.url(), store, says="requests, 1 made again")
    profiles = len(receiver.ids)
    check(receiver.twice == 1 and profiles > 2, "%d of %d ids" % (receiver.twice, profiles))
    push(receiver.url(), store_of("metrics"), says="recordings sent: 1")
    check(receiver.twice == 1 + profiles, "%d ids" % receiver.twice)
    same(receiver, folded(store), "once")
    push(receiver.url(), store_of("windows"), says="recordings sent: 6")
    check(receiver.twice == 1 + profiles, "windows have ids of their own")


@exports
def test_servers_partial():
    """A server of OTLP that takes a request, but not all of it: said, and not sent again."""
    for success, says, later in ((b"\x0a\x07\x08\x05\x12\x03old", r"\(0 samples, (.*\n)*.*rejected 2 profiles of these for good: old",
                                  "recordings that the server has without what was set aside: 1"),
                                 (b"\x0a\x05\x12\x03old", "the server says: old", "sent before: 1"),
                                 (b"\xff", "recordings sent: 1", "sent before: 1")):
        receiver, store = Otlp(), store_of("small")
        receiver.success = success
        push(receiver.url(), store, says=says)
        push(receiver.url(), store, says=later)
        check(receiver.number == 2, "sent again")


@exports
def test_servers_types():
    """The names of kinds of values, by each server's rules."""
    wanted = {Parca: {"process_cpu:samples:count:cpu:nanoseconds:delta", "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
                      "wait:wait_blocked:nanoseconds:wait:nanoseconds:delta",
                      "wait:wait_runnable:nanoseconds:wait:nanoseconds:delta"},
              Pyroscope: {"process_cpu:samples:count:cpu:nanoseconds", "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                          "wait_blocked:wait_blocked:nanoseconds:wait:nanoseconds",
                          "wait_runnable:wait_runnable:nanoseconds:wait:nanoseconds"},
              PyroscopeOtlp: {"process_cpu:cpu:nanoseconds:cpu:nanoseconds", "cpu:cpu:nanoseconds:cpu:nanoseconds",
                              "wait:wait_blocked:nanoseconds:wait:nanoseconds",
                              "wait:wait_runnable:nanoseconds:wait:nanoseconds"}}
    for kind, types in wanted.items():
        receiver, store = kind(), store_of("waits")
        push(receiver.url(), store, says="recordings sent: 1")
        check(receiver.sums.types == types and not receiver.refused, "%r, %r" % (receiver.sums.types, receiver.refused))
        receiver, store = kind(), store_of("small")
        with sqlite3.connect(store) as database:
            database.execute("UPDATE recordings SET event = 'L1-dcache:u', period = 100003")
        database.close()
        push(receiver.url(), store, says="recordings sent: 1")
        names = {name.split(":")[-5 if kind is Parca else -4] for name in receiver.sums.types}
        check(names == {"samples", "L1_dcache_u"} and not receiver.refused, "%r" % receiver.sums.types)


def by_place(kind):
    """What stands behind the names of profiles in notes."""
    return "@place" if issubclass(kind, Otlp) else ""


@exports
def test_servers_aside():
    """What a server can never take keeps nothing else from it, and is set aside for good after three tries, of as
    many pushes; what it has taken is not sent again meanwhile."""
    for kind, status in ((Parca, 400), (Pyroscope, 422), (PyroscopeOtlp, 400), (Otlp, 422)):
        receiver, store = kind(), store_of("waits")
        receiver.never, receiver.never_status = "wait_blocked", status
        for number in range(3):
            push(receiver.url(), store, status=2,
                 says="recording 1, wait_blocked: .*can never take that" +
                 (r"\n(.*\n)*.*requests set aside for good: 1; noted in .*\.sent" if number == 2 else ""))
            check(set(receiver.refused) == {"can never take that"}, "push %d: %r" % (number, receiver.refused))
        requests = receiver.number
        push(receiver.url(), store, says="sent before: 1;(.*\n)*.*the server has without what was set aside: 1")
        check(receiver.number == requests, "tried again")
        with open(store + ".sent", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        check(any(line[6:7] == ["wait_blocked" + by_place(kind)] and line[8] == line[5] for line in lines), "notes: %r" % lines)
        values = dict(receiver.sums.values)
        receiver.sums.values.clear()
        receiver.never = None
        if kind is Otlp:
            receiver.ids.clear()
        os.remove(store + ".sent")
        push(receiver.url(), store, says="recordings sent: 1")
        rest = receiver.sums.values
        check({**rest, ("wait_blocked", "nanoseconds"): 0} == {**values, ("wait_blocked", "nanoseconds"): 0},
              "%s: other than once: %r, %r" % (kind.__name__, values, rest))


@exports
def test_servers_failing():
    """A failure (500) that only some profiles cause counts as a refusal, if others are taken in the same push."""
    receiver, store = Parca(), store_of("windows")
    receiver.never, receiver.never_status = "bad_event", 500
    with sqlite3.connect(store) as database:
        database.execute("UPDATE recordings SET event = 'bad-event' WHERE id = 1")
    database.close()
    for last in 2, 2, 3, 4:  # the second push finds nothing else to send
        push(receiver.url(), store, "--recording", "1..%d" % last, status=1,
             says="recording 1, bad_event: .*status 500: can never take that")
    check(receiver.number == 7, "%d requests" % receiver.number)
    push(receiver.url(), store, says="recordings sent: 3 .*sent before: 3")
    check(receiver.number == 9, "tried again")
    receiver.refused = []
    same(receiver, folded(store, "--recording", "2..6"), "failing")


@exports
def test_servers_broken():
    """A server that fails at everything is at fault itself: nothing is set aside, however often it is tried."""
    receiver, store = Parca(), store_of("windows")
    receiver.faults = {number: (500, "no database") for number in range(6 * 4)}
    for _ in range(4):
        push(receiver.url(), store, status=1, says="failed with status 500: no database")
    check(receiver.number == 6 * 4, "%d requests" % receiver.number)
    push(receiver.url(), store, says="recordings sent: 6")
    receiver.refused = []
    same(receiver, folded(store, "--recording", "1..6"), "broken")
    # Of a metric whose values are all 0 nothing is sent, so the server has accepted nothing by that.
    receiver, store = Otlp(), store_of("zero")
    receiver.faults = {number: (500, "no database") for number in range(2)}
    push(receiver.url(), store, status=1, says="failed with status 500: no database")
    with open(store + ".sent", encoding="utf-8") as file:
        notes = [line.rstrip("\n").split("\t") for line in file]
    check(receiver.number == 2 and [line[4:8] for line in notes] == [["1", "1", "wait_blocked@place", "0"]], "notes", notes)


@exports
def test_servers_retry_after():
    receiver, store = Pyroscope(), store_of("small")
    receiver.faults, receiver.retry_after = {0: (429, "later")}, {429: "3"}
    start = time.monotonic()
    push(receiver.url(), store, says="requests, 1 made again")
    check(time.monotonic() - start >= 3, "it came again after %.1f s" % (time.monotonic() - start))
    receiver, store = Pyroscope(), store_of("small")
    receiver.faults, receiver.retry_after = {0: (429, "later")}, {429: "3600"}
    push(receiver.url(), store, status=1, says="the server takes no more for 3600 s: later")
    check(receiver.number == 1, "it came again")


@exports
def test_servers_refuse():
    """What does not pass is said at once, and not tried again."""
    store = store_of("small")
    receiver = Pyroscope(password="secret")
    push(receiver.url(), store, status=4, says="does not let user '' in .401: who are you")
    push(receiver.url(), store, status=4, says="does not let user 'pusher' in", STACKD_PUSH_USER="pusher",
         STACKD_PUSH_PASSWORD="secret1")
    check(receiver.number == 2, "tried again")
    receiver.refused = []
    file = STORES.path("push-credentials")
    with open(file, "w", encoding="ascii") as out:
        out.write("user = pusher\npassword = secret\n")
    push(receiver.url(), store, "--credentials", file, status=2, says="other users can read")
    os.chmod(file, 0o600)
    push(receiver.url(), store, "--credentials", file, says="recordings sent: 1")
    same(receiver, folded(store), "credentials")
    receiver, store = Parca(password="secret"), store_of("small")
    push(receiver.url(), store, says="recordings sent: 1", STACKD_PUSH_USER="pusher", STACKD_PUSH_PASSWORD="secret")
    same(receiver, folded(store), "credentials of the environment")
    coded = base64.b64encode(b"pusher:other-secret").decode()  # a server that says what it has got
    receiver, store = Pyroscope(), store_of("small")
    receiver.headers_wanted = {"Authorization": "Basic of another"}
    said = push(receiver.url(), store, status=4, says=r"what is Basic \*{%d}\?" % len(coded), STACKD_PUSH_USER="pusher",
                STACKD_PUSH_PASSWORD="other-secret")
    check(coded not in said, "the password is shown", said)
    for status, wanted, says in ((400, 2, "refuses this with status 400: no"), (403, 4, "does not let"),
                                 (404, 2, "takes nothing at /profiles/writeraw"), (413, 2, "this is too large")):
        receiver, store = Parca(), store_of("cut")
        receiver.faults = {number: (status, "no") for number in range(40)}
        push(receiver.url(), store, status=wanted, says=says)
        check(status == 413 or receiver.number == 1, "tried again: %d" % receiver.number)
    push("parca://127.0.0.1:%d" % free_port(), store, status=1, says="nothing can be reached there")
    push("parca://no-such-host.invalid", store, status=1, says="there is no host 'no-such-host.invalid'")
    push("parca://user:secret@host", store, status=2, says="could be seen by everybody")
    push("pyroscope://host:0", store, status=2, says="the port is not a number")
    push("pyroscope://", store, status=2, says="it has no host")
    push("pyroscope://host/a?b", store, status=2, says="a path has letters")


@exports
def test_servers_tls():
    """A server is trusted if one of the authorities has signed it in its name, and never otherwise."""
    need("openssl")
    user, file = {"STACKD_PUSH_PASSWORD": "secret"}, STORES.path("push-authority")
    for kind, scheme in ((Pyroscope, "pyroscopes"), (Parca, "parcas"), (Otlp, "otlp+https")):
        receiver, store = kind(password="secret"), store_of("small")
        relay = TlsRelay(receiver.server_address[1], STORES.folder)
        url = "%s://pusher@%%s:%d" % (scheme, relay.port)
        push(url % "127.0.0.1", store, status=1, says="certificate", **user)
        with open(file, "w", encoding="ascii", opener=lambda *a: os.open(*a, 0o600)) as out:
            out.write("password = secret\nca = %s\n" % relay.certificate)
        push(url % "localhost", store, "--credentials", file, status=1, says="host name 'localhost'")
        check(receiver.number == 0, "it was asked")
        push(url % "127.0.0.1", store, "--credentials", file, says="recordings sent: 1")
        same(receiver, folded(store), "TLS, " + scheme)


def credentials(*lines):
    """A file with these lines."""
    path = STORES.path("push-login")
    with open(path, "w", encoding="ascii", opener=lambda *a: os.open(*a, 0o600)) as file:
        file.write("\n".join(lines) + "\n")
    return path


@exports
def test_servers_login():
    """Tokens, tenants and headers, from the file alone; no message shows a secret, even if the server does."""
    receiver, store = Pyroscope(), store_of("small")
    receiver.headers_wanted = {"Authorization": "Bearer secret-1", "X-Scope-OrgID": "team", "X-Key": "secret-key"}
    tenant, key = "org = team", "header = X-Key: secret-key"
    push(receiver.url(), store, status=4, says="does not let user '' in")
    push(receiver.url(), store, "--credentials", credentials("token = secret-0", tenant, key), status=4,
         says=r"does not let the token in .401: what is Bearer \*{8}\?")
    token = STORES.path("token")
    for lines, says in ((("user = x", "token = secret-1"), "exclude each other"), (("key = x",), "needs its certificate"),
                        (("header = secret",), "login:1: a header has the form"),
                        (("token = secret-1", "token_file = x"), "exclude each other"), (("tokn = secret",), ":1: expected"),
                        (("user = x", "ca ="), ":2: nothing stands behind 'ca ='"),
                        (("token =",), ":1: nothing stands behind 'token ='")):
        push(receiver.url(), store, "--credentials", credentials(*lines), status=2, says=says)
    push(receiver.url(), store, "--credentials", credentials("token_file = " + token), status=1, says="no token in " + token)
    with open(token, "w", encoding="ascii") as file:
        file.write("secret-1\n")
    push(receiver.url(), store, "--credentials", credentials("token_file = " + token, tenant, key), says="sent: 1")
    push(receiver.url(), store_of("small"), "--credentials", credentials("token = secret-1", tenant, key), says="sent: 1")
    check(sum(receiver.sums.paths.values()) == 200, "%r" % receiver.sums.paths)


@exports
def test_servers_mtls():
    """A server that wants to see the client's certificate."""
    need("openssl")
    certificate, key = STORES.path("client.pem"), STORES.path("client-key.pem")
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=host", "-keyout", key,
        "-out", certificate)
    receiver, store = Otlp(), store_of("small")
    relay = TlsRelay(receiver.server_address[1], STORES.folder, certificate)
    url, authority = "otlp+https://127.0.0.1:%d" % relay.port, "ca = " + relay.certificate
    done = subprocess.run([STACKCTL, "push", url, "-i", store, "--credentials", credentials(authority)],
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    print(done.stderr)  # usually with status 4; 1 if the connection ends before the reason arrives
    check(done.returncode in (1, 4) and receiver.number == 0, "it was let in", done.stderr)
    push(url, store, "--credentials", credentials(authority, "certificate = " + certificate, "key = " + key),
         says="recordings sent: 1")
    same(receiver, folded(store), "mTLS")
    # A key with a passphrase, in the certificate's file: nobody is asked for it.
    both, locked = STORES.path("client-both.pem"), STORES.path("client-locked.pem")
    run("openssl", "rsa", "-aes256", "-passout", "pass:hush", "-in", key, "-out", locked)
    with open(both, "w", encoding="ascii") as file:
        for part in certificate, locked:
            with open(part, encoding="ascii") as text:
                file.write(text.read())
    master, terminal = os.openpty()
    with subprocess.Popen([STACKCTL, "push", url, "-i", store_of("small"), "--credentials",
                           credentials(authority, "certificate = " + both)], stdin=terminal, stderr=subprocess.PIPE,
                          text=True, start_new_session=True,
                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) as pushing:
        try:
            said = pushing.communicate(timeout=PATIENCE)[1]
        finally:
            pushing.kill()
    check(pushing.returncode == 1 and "private key" in said, "it ended with %d" % pushing.returncode, said)
    check(not select.select([master], [], [], 0)[0], "it asked for the passphrase")
    os.close(master)
    os.close(terminal)


@exports
def test_servers_split():
    """A server that takes less at a time gets more requests, and a cut-off push goes on where it was."""
    for server in KINDS:
        receiver, store = server(), store_of("small")
        size, requests = re.search(r"(\d+) bytes in (\d+) requests", push(receiver.url(), store)).groups()
        receiver, store = server(most_bytes=int(size) // int(requests) - 1), store_of("small")
        push(receiver.url(), store, says="recordings sent: 1")
        check(receiver.sums.requests > 1 and "request body too large" in receiver.refused, "not split")
        receiver.refused = []
        same(receiver, folded(store), server.scheme + ", split")
    receiver, store = Counter(), store_of("wide")
    receiver.faults = {3: (400, "not now")}
    push(receiver.url(), store, status=2, says="refuses this with status 400: not now")
    check(receiver.sums.requests == 3, "%d requests" % receiver.sums.requests)
    push(receiver.url(), store, says=r"recordings sent: 1 \(952000 samples, \d+ bytes in \d+ requests")
    check(sum(receiver.sums.paths.values()) == 1_000_000, "%d samples" % sum(receiver.sums.paths.values()))
    check(receiver.sums.requests >= 1_000_000 // MOST_SAMPLES, "requests")
    receiver = Counter()  # 16,000 of these samples are more than it ever takes at once
    push(receiver.url(), store_of("long"), says=r"recordings sent: 1 \(16900 samples")
    check(not receiver.refused and receiver.sums.paths[None] == 16900, "long paths", receiver.refused)


@exports
def test_servers_notes():
    """The file of what has been sent."""
    receiver, store = Pyroscope(), store_of("small")
    notes = STORES.path("notes")
    push(receiver.url(), store, "--sent", notes, says="recordings sent: 1")
    with open(notes, encoding="utf-8") as file:
        first, line = file.readlines()
    check(first.startswith(receiver.url("/ingest") + "\tbox\t") and first.endswith("\tcpu\t0\t0\n"), "line %r" % first)
    check(line.startswith(receiver.url("/ingest") + "\tbox\t") and line.count("\t") == 5, "line %r" % line)
    with open(notes, "a", encoding="utf-8") as file:
        file.write(line[:-4])  # a write that was cut off
    push(receiver.url(), store, "--sent", notes, says="sent before: 1")
    columns = line.split("\t")
    with open(notes, "w", encoding="utf-8") as file:
        file.write("\t".join(columns[:3] + [str(int(columns[3]) - 1)] + columns[4:]))
    push(receiver.url(), store, "--sent", notes, says="1 recording has grown since it was sent")
    with open(notes, "w", encoding="utf-8") as file:
        file.write("hello\n")
    push(receiver.url(), store, "--sent", notes, status=2, says=":1: this line names no recording")
    push(receiver.url(), store, "--sent", "/proc/none/x", status=2, says="give another file by --sent")
    check(receiver.sums.requests == 1, "%d requests" % receiver.sums.requests)


@exports
def test_servers_notes_before():
    """Notes of the versions before profiles were sent apart: the first entries of all profiles together."""
    receiver, store = Pyroscope(), store_of("waits")
    push(receiver.url(), store, says="recordings sent: 1")
    with open(store + ".sent", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    sizes = {line[6]: int(line[5]) for line in lines if len(line) > 6}
    check(list(sizes)[0] == "cpu" and len(sizes) == 3 and int(lines[-1][5]) == sum(sizes.values()), "sizes %r" % lines)
    with open(store + ".sent", "w", encoding="utf-8") as file:
        file.write("\t".join(lines[0][:4] + ["%d" % sizes["cpu"], lines[-1][5]]) + "\n")
    values = dict(receiver.sums.values)
    receiver.sums.values.clear()
    push(receiver.url(), store, says="recordings sent: 1 .* in 2 requests")
    check(receiver.sums.values == {kind: value for kind, value in values.items() if kind[0].startswith("wait")},
          "%r, %r" % (values, receiver.sums.values))


@exports
def test_servers_notes_order():
    """Notes of the versions in which OTLP's entries had another order: of whole profiles they are good, else not."""
    for has_all in True, False:
        receiver, store = Otlp(), store_of("fleet")
        push(receiver.url(), store, says="recordings sent: 1")
        with open(store + ".sent", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        lines = [line for line in lines if line[6:7] == ["samples@place"] and line[4] == line[5]]
        check(len(lines) == 1, "lines", lines)
        line = lines[0][:6] + ["samples"] + lines[0][7:]
        if not has_all:
            line[4] = "1"
        with open(store + ".sent", "w", encoding="utf-8") as file:
            file.write("\t".join(line) + "\n")
        wanted = dict(receiver.sums.values)
        receiver.sums.values.clear()
        receiver.ids.clear()
        push(receiver.url(), store, says="recordings sent: 1")
        if has_all:
            del wanted[("samples", "count")]
        check(receiver.sums.values == wanted, "%r, %r" % (wanted, receiver.sums.values))


def metrics_of(path):
    """{name without stackd_push_: value}, of one server."""
    values = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = re.fullmatch(r'stackd_push_(\w+)\{server="([^"]+)"\} (\S+)\n', line)
            check(match or re.match(r"# (HELP|TYPE) stackd_push_\w+ \w", line), "line %r" % line)
            if match:
                values[match[1]] = float(match[3])
    return values


@exports
def test_servers_metrics():
    """Lag, refusals and counts, after rounds that fail and rounds that do not."""
    path, store = STORES.path("push.prom"), store_of("windows")
    push("pyroscope://127.0.0.1:%d" % free_port(), store, "--metrics", path, status=1, says="nothing can be reached")
    got = metrics_of(path)
    check(got["waiting_recordings"] == 6 and got["lag_seconds"] > 1e7 and got["failed_rounds_total"] == 1 and
          got["last_success_timestamp_seconds"] == got["recordings_total"] == 0, "away: %r" % got)
    receiver = Pyroscope()
    receiver.faults = {0: (422, "no")}
    push(receiver.url(), store, "--metrics", path, status=2, says="refuses this with status 422: no")
    got = metrics_of(path)
    check(got["waiting_recordings"] == got["refusals_total"] == 1 and got["lag_seconds"] > 1e7 and
          got["recordings_total"] == got["requests_total"] == 5, "refused: %r" % got)
    push(receiver.url(), store, "--metrics", path)
    got = metrics_of(path)
    check(got["waiting_recordings"] == got["lag_seconds"] == got["failed_rounds_total"] == 0 and
          got["recordings_total"] == 1 and abs(got["last_success_timestamp_seconds"] - time.time()) < PATIENCE, "done: %r" % got)
    # Of ClickHouse, only what is measured.
    push("clickhouse://127.0.0.1:%d/db" % free_port(), store, "--metrics", path, status=1, says="nothing can be reached")
    counters = {name for name in metrics_of(path) if name.endswith("_total")}
    check(counters == {"rounds_total", "failed_rounds_total", "recordings_total", "bytes_total", "deleted_total"}, counters)
    push(receiver.url(), store, "--metrics", "/proc/none/x", status=1, says="cannot write /proc/none/x")


@exports
def test_servers_follow():
    """A service sends what ends, waits while the server is away, and does not stop."""
    port, store = free_port(), store_of("windows")
    process = subprocess.Popen([STACKCTL, "push", "pyroscope://127.0.0.1:%d" % port, "-i", store, "--follow",
                                "--every", "1s"], stderr=subprocess.PIPE, text=True)
    try:
        check("nothing can be reached" in process.stderr.readline(), "the server is away")
        receiver = Pyroscope(port=port)
        line = process.stderr.readline()
        while "nothing can be reached" in line:
            line = process.stderr.readline()
        # The last one is not finished, and has not been seen for ten minutes to stand still.
        check("recordings sent: 5" in line and "left for later: 1" in line, line)
        same(receiver, folded(store, "--recording", "1..5"), "--follow")
        time.sleep(2.5)
        check(process.poll() is None and receiver.sums.requests == 5, "it went on otherwise")
        with sqlite3.connect(store, timeout=PATIENCE) as database:
            database.execute("UPDATE recordings SET finished = 1")
        check("recordings sent: 1 " in process.stderr.readline(), "what has ended meanwhile")
        same(receiver, folded(store, "--recording", "1..6"), "--follow, all")
    finally:
        process.terminate()
        process.wait()
