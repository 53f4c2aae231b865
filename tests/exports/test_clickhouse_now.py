# SPDX-License-Identifier: MIT
"""stackctl push and report with the engine of a current ClickHouse, which npm's chdb holds. The rest of
the tests have Debian's server, which is of 2018."""

import itertools
import os
import shutil
import subprocess

from clickhouse import Server
from common import BUILD, ROOT, STACKCTL, STORES, check, exports, npm, run
from test_grafana import check_flame_graph
from tables import Source, same, without_labels
from test_clickhouse import (counts, check_orphans, fill_for_keeping, PUSHES, VIEWS, as_seen, check_documented, check_labels, check_parts, check_upgrade, check_views, check_wall, columns_of, lines, push,
                             store_of)


class Engine(Server):
    """chdb behind HTTP, until the end of `with`."""

    def __init__(self):  # pylint: disable=super-init-not-called
        modules = os.path.abspath(os.path.dirname(npm("chdb")))
        self.memory = None
        self.data = os.path.abspath(os.path.join(BUILD, "chdb"))
        shutil.rmtree(self.data, ignore_errors=True)
        os.makedirs(self.data)
        self.process = subprocess.Popen(
            ["node", os.path.join(ROOT, "tests/exports/chdb.mjs"), modules, self.data],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.host, self.port = "127.0.0.1", int(self.process.stdout.readline() or 0)
        check(self.port, "chdb.mjs did not start")

    def __enter__(self):
        print("engine", self.ask("SELECT version()", "default"))
        return self

    def __exit__(self, *_):
        self.stop()
        self.process = None


def check_kinds(engine, kinds, views):
    """`views`: those of each grouping of each kind, in turn."""
    for kind in kinds:
        store, url = store_of(kind, "web1"), engine.make("now")
        push(url, store, says="recordings sent: 1")
        push(url, store, says="recordings sent: 0 (0 rows, 0 bytes); there already: 1")
        source = Source(store)
        samples = engine.ask("SELECT %s FROM samples WHERE push IN (%s) FORMAT JSONCompact"
                             % (columns_of("samples"), PUSHES), "now")
        same(without_labels(samples), as_seen(source.samples()), kind)
        for table, wanted in (("paths", source.paths()), ("locations", source.locations())):
            same(engine.ask("SELECT %s FROM %s FORMAT JSONCompact" % (columns_of(table), table), "now"),
                 wanted, kind + ": " + table)
        check(lines(url) == lines(store, "--by", "all"), kind + ": the tree")
        if kind != "deep":
            for by in ("all", "command", "unit", "container", "host"):
                check_views(store, url, "--by", by, views=next(views))


def check_metrics(engine, views):
    store, url = store_of("metrics", "web1"), engine.make("now")
    push(url, store)
    for metric in ("region.time", "region.visits", "region.cpu", "mpi.sent"):
        check_views(store, url, "--by", "all", "--metric", metric, views=next(views))


def check_keep(engine):
    """A server that deletes what is old by itself."""
    store = store_of("labels", "l1")
    url = fill_for_keeping(engine, store)
    push(url, store, "--keep-age", "9000d")
    check_orphans(engine)
    check(all(counts(engine)), "something is too young %r" % counts(engine))
    for table in "windows", "totals":
        engine.ask("CREATE TABLE kept_%s ENGINE = Memory AS SELECT * FROM %s" % (table, table), "keep")
        engine.ask("SYSTEM STOP TTL MERGES " + table, "keep")
    push(url, store, "--keep-age", "30d", says="there already: 1")
    for table in "windows", "totals":
        engine.ask("INSERT INTO %s SELECT * FROM kept_%s" % (table, table), "keep")
    # Samples went before the windows.
    check(all(counts(engine)[:2]) and not counts(engine)[2], "left %r" % counts(engine))
    lines(url, status=3, says="it has nothing of that time and these hosts")
    for table in "windows", "totals":
        engine.ask("SYSTEM START TTL MERGES " + table, "keep")
    for table in ("windows", "totals", "samples", "paths", "locations", "labels"):
        engine.ask("OPTIMIZE TABLE %s FINAL" % table, "keep")
    check(not any(counts(engine)), "left of long ago %r" % counts(engine))
    push(url, store, says="recordings sent: 0 (0 rows, 0 bytes); there already: 1")


@exports(long=True)
def test_clickhouse_now_others():
    with Engine() as engine:
        every = itertools.repeat(VIEWS)
        check_kinds(engine, ("small", "hostile", "inferred", "waits", "heap", "deep", "metrics", "fleet"), every)
        check_metrics(engine, every)


@exports(long=True)
def test_clickhouse_now():
    """Tables, rows, views and the documented query are the same in a current engine. Each view of each grouping
    is in test_clickhouse_report, of a server, and in test_clickhouse_now_others."""
    with Engine() as engine:
        in_turn = itertools.cycle([(view,) for view in VIEWS])
        check_kinds(engine, ("metrics", "fleet"), in_turn)
        check_metrics(engine, in_turn)
        push(engine.make("now"), store_of("fleet", "web1"))
        check_parts("rank 3: 18 samples, 45.0% of all", lines(engine.url("now"), "--by", "rank"))
        picture = STORES.path("now.svg")
        run(STACKCTL, "flamegraph", "-i", engine.url("now"), "-o", picture)
        with open(picture, encoding="utf-8") as file:
            check("twin" in file.read(), "the flame graph")
        check_documented(engine)
        url = engine.make("labels")
        for kind, host in ("labels", "l1"), ("waits", "w1"), ("fleet", "f1"):
            push(url, store_of(kind, host))
        check_labels(url, store_of("labels", "l1"))
        check_upgrade(engine)
        check_wall(engine)
        check_keep(engine)
        check_flame_graph(engine)
