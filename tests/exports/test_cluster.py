# SPDX-License-Identifier: MIT
"""A database on the two servers of a cluster: each recording once, whatever breaks off, and a server that
does not answer is told of, with what is missing."""

import os
import subprocess

from clickhouse import Cluster, Relay, Server
import saved_page
from common import BUILD, LONG, PATIENCE, STACKCTL, STORES, check, exports
from tables import COLUMNS, Source, same, without_labels
from test_clickhouse import (PUSHES, as_seen, check_documented, check_parts, check_views, columns_of, fill_with_rare, lines,
                             push, store_of)

WHOLE = ("labels", "locations", "paths", "totals", "windows")  # on each server; samples are shared out
CLUSTERS = []


def cluster():
    """One for all tests, both of whose servers run."""
    if not CLUSTERS:
        CLUSTERS.append(Cluster())
    for server in CLUSTERS[0].servers:
        if not server.process:
            server.start()
    return CLUSTERS[0]


def stop():
    while CLUSTERS:
        CLUSTERS.pop().stop()


def shared_out(database):
    """How many samples each server has itself."""
    return [int(server.ask("SELECT sum(count) FROM samples_shard WHERE metric = 'cpu'", database)[0][0])
            for server in cluster().servers]


def counted(database, number):
    """The rows of samples that count, as one of the servers tells them."""
    return cluster().servers[number].ask("SELECT %s FROM samples WHERE push GLOBAL IN (%s) FORMAT JSONCompact" % (
        columns_of("samples"), PUSHES), database)


def check_same(database):
    """Whether the servers have the same, but for their parts of the samples."""
    for table in WHOLE:
        first, second = (sorted(server.ask("SELECT * FROM %s FORMAT JSONCompact" % table, database), key=str)
                         for server in cluster().servers)
        check(first == second and (first or table == "labels"), "%s of the two servers" % table, first, second)


def check_shares(database):
    """Whether each tag's samples are on one server, and all servers have some."""
    tags = [{row[0] for row in server.ask("SELECT DISTINCT tag FROM samples_shard", database)}
            for server in cluster().servers]
    check(all(tags) and not tags[0] & tags[1], "tags of the two servers", tags)


# --- what arrives ---------------------------------------------------------------------------------

@exports
def test_clickhouse_cluster():
    """Recordings against their own stores, by whichever server is asked."""
    url, kinds = cluster().make("fleet"), ("hostile", "metrics", "deep", "labels")
    for kind in kinds:
        store = store_of(kind, "web1")
        push(cluster().make("one"), store, says="recordings sent: 1")
        source = Source(store)
        for number in range(2):
            same(without_labels(counted("one", number)), as_seen(source.samples()), kind)
            for table, wanted in (("paths", source.paths()), ("locations", source.locations())):
                same(cluster().servers[number].ask("SELECT %s FROM %s FORMAT JSONCompact" % (
                    columns_of(table), table), "one"), wanted, "%s: %s" % (kind, table))
            check_views(store, cluster().url("one", number), "--by", "command")
        check_same("one")
    for by in ("service", "pod"):
        mine = lines(store, "--by", by, "--label", "env=*")
        check(lines(cluster().url("one", 1), "--by", by, "--label", "env=*") == mine, "by " + by)
    for kind in kinds:
        push(url, store_of(kind, "host-" + kind), says="recordings sent: 1")
        # Once it is there, the URL need not name the cluster, and may name another of its servers.
        push(cluster().url("fleet", 1), store_of(kind, "host-" + kind), says="recordings sent: 0")
    check_same("fleet")
    check_shares("fleet")
    push(cluster().url("fleet", 1), store_of("windows", "db1"), says="recordings sent: 6")
    check_same("fleet")


@exports
def test_clickhouse_cluster_documented():
    check_documented(cluster())


# --- what goes wrong ------------------------------------------------------------------------------

def check_away(store):
    """The second server is away: what the first one has is shown, and what is missing told, also by a graph of more paths than
    a page can show."""
    push(cluster().make("much"), store)
    fill_with_rare(cluster(), "much", "samples_shard")
    left, much = shared_out("much"), cluster().url("much")
    (first, second), url = shared_out("away"), cluster().url("away")
    check(first + second == 100 and first and second, "samples of the servers", first, second)
    away = cluster().servers[1]
    away.kill()
    text = lines(url, "--by", "all", status=1, says="%d of 100 records (%d.0 %%) are missing here: %s: a server of its cluster "
                 "does not answer (Code: 210" % (second, second, url))
    check_parts("%d.0%%" % 100, text)
    check("[no frames]" not in text and "main" in text, "paths are whole on each server", text)
    lines(url, status=1, says="(127.0.0.2:%d)" % away.tcp)
    done = subprocess.run([STACKCTL, "flamegraph", "-i", much, "-o", STORES.path("much.html")], stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and "%d of %d records" % (left[1], sum(left)) in done.stderr, "a graph of many paths", left, done.returncode, done.stderr)
    graph = saved_page.paths(saved_page.answer(STORES.path("much.html"), "tree"), "total")
    check(graph[()] == (left[0],), "what the graph has %r" % (graph[()],))
    lines(url.replace("//", "//reader@"), status=4, says="this user may not ask for what the others have")
    push(url, store_of("after", "web2"), status=1,
         says="clickhouse://127.0.0.2:%d/away: nothing can be reached there" % away.port)
    lines(url, "--host", "web2", status=3, says="it has nothing of that time and these hosts")
    away.start()
    push(url, store_of("after", "web2"), says="recordings sent: 1")
    check(lines(url, "--by", "all", "--host", "web1") == lines(store, "--by", "all"), "it is back")


@exports
def test_clickhouse_cluster_away():
    """A server that does not answer: told by report and push, and all is right when it is back."""
    store = store_of("small", "web1")
    push(cluster().make("away"), store)
    check_away(store)
    check_same("away")
    # What a server has lost is missing, too.
    cluster().servers[1].ask("TRUNCATE TABLE samples_shard", "away")
    lines(cluster().url("away"), status=1, says="records (")
    lines(cluster().url("away"), status=1, says="are missing here: no server that answers has them")
    cluster().servers[0].ask("TRUNCATE TABLE samples_shard", "away")
    lines(cluster().url("away"), status=3, says="all 200 samples of that time and these hosts are missing")


@exports
def test_clickhouse_cluster_cut_off():
    """A connection to either server that is lost at any request: an error, and the next push makes it whole."""
    store, ports = store_of("fleet", "web1"), cluster().servers
    wanted = as_seen(Source(store).samples())
    first = Relay(ports[0].port, ports[0].host)
    relays = [first, Relay(ports[1].port, ports[1].host, first.port)]

    def url(port=None):
        return cluster().url("cut", port=port) + "?cluster=fleet"
    cluster().make("cut")
    push(url(first.port), store, says="recordings sent: 1")
    requests = [relay.requests for relay in relays]
    check(min(requests) >= 8, "requests to the servers: %r" % requests)
    for relay, number in zip(relays, requests):
        for lost in range(number) if LONG else [*range(0, number - 1, 3), number - 1]:
            when = ("before", "after")[lost % 2]
            cluster().make("cut")
            for other in relays:
                other.reset(lost if other is relay else None, when)
            push(url(first.port), store, status=1, says="the connection broke off")
            push(url(), store, says="recordings sent: ")
            for server in range(2):
                same(without_labels(counted("cut", server)), wanted,
                     "server %d, request %d, %s" % (relays.index(relay), lost, when))


@exports
def test_clickhouse_cluster_two_pushers():
    """By both servers at once."""
    cluster().make("two")
    store = store_of("windows", "web1")
    pushers = [subprocess.Popen([STACKCTL, "push", cluster().url("two", number % 2) + "?cluster=fleet", "-i", store],
                                stderr=subprocess.PIPE, text=True) for number in range(4)]
    for pusher in pushers:
        said = pusher.communicate(timeout=PATIENCE)[1]
        check(pusher.returncode == 0, "a pusher failed", said)
    wanted = []
    for number in range(1, 7):
        wanted += Source(store, "--recording", str(number)).samples()
    for number in range(2):
        same(without_labels(counted("two", number)), as_seen(wanted), "two pushers")


@exports
def test_clickhouse_cluster_errors():
    store = store_of("small", "web1")
    url, plain = cluster().make("errors"), cluster().url("errors")
    push(plain + "?cluster=nowhere", store, status=2, says="the server's configuration has no cluster 'nowhere'")
    for wrong in ("?shards=fleet", "?cluster=", "?cluster=a'b", "?"):
        push(plain + wrong, store, status=2, says="behind the database only ?cluster=NAME can stand")
    cluster().servers[1].ask("DROP DATABASE errors", "default")
    push(url, store, status=2, says="clickhouse://127.0.0.2:%d/errors: the server has no database 'errors'"
         % cluster().servers[1].port)
    push(cluster().make("errors"), store, says="recordings sent: 1")
    push(plain + "?cluster=alone", store, status=2, says="its tables are of the cluster 'fleet'")
    cluster().make("errors")
    push(plain, store, says="recordings sent: 1")
    push(url, store, status=2, says="its tables are of this server alone, and not of the cluster 'fleet'")
    check_layouts(store)


def check_layouts(store):
    """Tables of an engine that is not ours, on either server."""
    cluster().make("errors")
    push(cluster().url("errors"), store)
    url = cluster().make("layout")
    cluster().ask("CREATE TABLE samples AS errors.samples ENGINE = Distributed(fleet, layout, samples_shard, rand())",
                  "layout")
    for database in (url, cluster().url("layout")):
        push(database, store, status=2, says="its table 'samples' is Distributed in another way")
        lines(database, status=2, says="its table 'samples' is Distributed in another way")
    check(cluster().ask("SHOW TABLES", "layout") == [["samples"]], "a refused push made tables")
    url = cluster().make("layout")
    cluster().servers[1].ask("CREATE TABLE paths (tag UInt64) ENGINE = Log", "layout")
    push(url, store, status=2, says="clickhouse://127.0.0.2:%d/layout: its table 'paths' is of another version"
         % cluster().servers[1].port)
    stranger = Server(os.path.abspath(os.path.join(BUILD, "clickhouse-stranger")), "127.0.0.3",
                      cluster().servers[0].port, fleet=[(server.host, server.tcp) for server in cluster().servers])
    try:
        cluster().make("strange")
        push(stranger.make("strange") + "?cluster=fleet", store, status=2,
             says="the server is not part of the cluster 'fleet': name one of its servers")
    finally:
        stranger.stop()
