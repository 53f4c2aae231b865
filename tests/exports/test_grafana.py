# SPDX-License-Identifier: MIT
"""packaging/grafana/stackd.json: that the SQL of its panels and variables runs at a server, and what it answers of a fleet."""

import json
import os
import urllib.parse

from common import ROOT, STACKCTL, check, exports, functions, run
from test_clickhouse import push, rename, server, store_of


def queries():
    """{title or variable: SQL}"""
    with open(os.path.join(ROOT, "packaging/grafana/stackd.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    found = {}
    for panel in dashboard["panels"]:
        kind = {"flamegraph": "table"}.get(panel["type"], panel["type"])
        check(len(panel["targets"]) == 1 and panel["targets"][0]["queryType"] == kind, panel["title"])
        found[panel["title"]] = panel["targets"][0]["rawSql"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found[variable["name"]] = variable["query"]
    return found


def filled(sql, host, function):
    """As Grafana and its data source fill it in; ${...:percentencode} is encodeURIComponent() and "!'()*"."""
    function = urllib.parse.quote(function, safe="-_.~")
    for macro, value in (("$__fromTime", "toDateTime('2023-01-01 00:00:00')"), ("$__toTime", "toDateTime('2024-01-01 00:00:00')"),
                         ("${host:regex}", host), ("${function:percentencode}", function), ("${event:sqlstring}", "'cpu-clock'")):
        sql = sql.replace(macro, value)
    check("$" not in sql.replace(")$'", ""), "another macro: " + sql)
    return sql


def drop_days(engine, table):
    """Locations or paths of the time are no longer there, as after an upgrade, when they are those of another day."""
    for (day,) in engine.ask("SELECT DISTINCT partition FROM system.parts WHERE database = currentDatabase() AND table = '%s' AND active"
                             % table, "grafana"):
        engine.ask("ALTER TABLE %s DROP PARTITION '%s'" % (table, day), "grafana")


def check_flame_graph(engine):
    """The nested sets of Grafana's panel are the folded stacks of the export."""
    url, store = engine.make("grafana"), store_of("small", "web1")
    push(url, store)
    push(url, store_of("small", "db1"))
    sql = next(sql for title, sql in queries().items() if title.startswith("Flame graph"))
    wanted, got, path = {}, {}, []
    for line in run(STACKCTL, "export", "--folded", "-i", store).splitlines():
        stack, count = line.rsplit(" ", 1)
        frames = tuple(frame.split("_[")[0] for frame in stack.split(";")[1:])
        wanted[frames] = wanted.get(frames, 0) + int(count)
    for level, label, value, own in engine.ask(filled(sql, "web1", ""), "grafana"):
        check(int(level) <= len(path), "a level is missing: %s %r" % (level, path))
        path[int(level):] = [(label, float(value))]
        check(int(level) == 0 or float(value) <= path[-2][1], "more than its caller has: %r" % path)
        if float(own):
            got[tuple(name for name, _ in path[1:])] = float(own)
    wanted.pop((), None)
    check(got == wanted, "flame graph %r, and %r in the export" % (got, wanted))
    for table in "locations", "paths":
        drop_days(engine, table)
        rows = engine.ask(filled(sql, "web1", ""), "grafana")
        check(float(rows[0][2]) == sum(float(row[3]) for row in rows) == 100 and {"all", "[unknown]"} == {
            row[1] for row in rows if "incomplete" not in row[1]}, "without %s: %r" % (table, rows))


@exports
def test_grafana():
    url = server().make("grafana")
    for kind, host in ("small", "web1"), ("after", "web2"), ("small", "db1"):
        push(url, store_of(kind, host), says="recordings sent: 1")
    sql, answers = queries(), {}
    sql.pop(next(title for title in sql if title.startswith("Flame graph")))  # which servers of 2018 cannot draw
    for host in ".*", "web1":
        answers = {title: server().ask(filled(query, host, "app::work()"), "grafana") for title, query in sql.items()}
        if host == ".*":
            check([row[0] for row in answers["host"]] == ["db1", "web1", "web2"], "hosts %r" % answers["host"])
            check({row[0] for row in answers["Hosts: samples, losses, lag"]} == {"db1", "web1", "web2"}, "lag")
    wanted = {}
    for (name, _), (own, _) in functions(store_of("small", "web1")).items():
        if own and "[" not in name:
            wanted[name] = wanted.get(name, 0) + own
    got = {row[0]: int(row[1]) for row in answers["Functions in which most samples hit"] if "[" not in row[0]}
    check(got == wanted, "functions %r, and %r in the report" % (got, wanted))
    check({row[0] for row in answers["function"]} >= set(wanted), "the variable")
    check(sum(float(row[2]) for row in answers["Samples by host"]) == 100 and answers["Samples by host"][0][1] == "web1",
          "samples %r" % answers["Samples by host"])
    check(sum(float(row[1]) for row in answers["${function} over time"]) == wanted["app::work()"], "one function")
    # A name is no SQL, whatever is in it.
    rename("grafana", "app::work()", "it's %+\\' OR 1 OR '")
    for name, samples in ("it's %+\\' OR 1 OR '", wanted["app::work()"]), ("\\' OR 1 OR '", 0), ("' OR 1 OR '", 0):
        rows = server().ask(filled(sql["${function} over time"], "web1", name), "grafana")
        check(sum(float(row[1]) for row in rows) == samples, "%s: %r" % (name, rows))
    drop_days(server(), "locations")
    rows = server().ask(filled(sql["Functions in which most samples hit"], "web1", ""), "grafana")
    check(rows == [["[unknown]", "100"]], "without locations: %r" % rows)
    kept = answers["Hosts: samples, losses, lag"]
    check(len(kept) == 1 and kept[0][:2] == ["web1", "100"] and 1e7 < float(kept[0][3]) < 1e9, "hosts %r" % kept)
