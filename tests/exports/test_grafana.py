# SPDX-License-Identifier: MIT
"""packaging/grafana/stackd.json: that the SQL of its panels and variables runs at a server, and what it answers of a fleet."""

import json
import os
import urllib.parse

from common import ROOT, check, exports, functions
from test_clickhouse import push, rename, server, store_of


def queries():
    """{title or variable: SQL}"""
    with open(os.path.join(ROOT, "packaging/grafana/stackd.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    found = {}
    for panel in dashboard["panels"]:
        check(len(panel["targets"]) == 1 and panel["targets"][0]["queryType"] == panel["type"], panel["title"])
        found[panel["title"]] = panel["targets"][0]["rawSql"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found[variable["name"]] = variable["query"]
    return found


def filled(sql, host, function):
    """As Grafana and its data source fill it in; ${...:percentencode} is encodeURIComponent() and "!'()*"."""
    function = urllib.parse.quote(function, safe="-_.~")
    for macro, value in (("$__fromTime", "toDateTime('2023-01-01 00:00:00')"), ("$__toTime", "toDateTime('2024-01-01 00:00:00')"),
                         ("${host:regex}", host), ("${function:percentencode}", function)):
        sql = sql.replace(macro, value)
    check("$" not in sql.replace(")$'", ""), "another macro: " + sql)
    return sql


@exports
def test_grafana():
    url = server().make("grafana")
    for kind, host in ("small", "web1"), ("after", "web2"), ("small", "db1"):
        push(url, store_of(kind, host), says="recordings sent: 1")
    sql, answers = queries(), {}
    for host in ".*", "web1":
        answers = {title: server().ask(filled(query, host, "app::work()"), "grafana") for title, query in sql.items()}
        if host == ".*":
            check([row[0] for row in answers["host"]] == ["db1", "web1", "web2"], "hosts %r" % answers["host"])
            check({row[0] for row in answers["Hosts: samples, losses, lag"]} == {"db1", "web1", "web2"}, "lag")
    wanted = {}
    for (name, _), (own, _) in functions(store_of("small", "web1")).items():
        if own and "[" not in name and "+0x" not in name:
            wanted[name] = wanted.get(name, 0) + own
    got = {row[0]: int(row[1]) for row in answers["Functions in which most samples hit"] if "[" not in row[0] and not row[0].endswith(".so")}
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
    kept = answers["Hosts: samples, losses, lag"]
    check(len(kept) == 1 and kept[0][:2] == ["web1", "100"] and 1e7 < float(kept[0][3]) < 1e9, "hosts %r" % kept)
