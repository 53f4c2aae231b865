# SPDX-License-Identifier: MIT
"""stackctl diff, flamegraph --diff and top of a ClickHouse server's database: what they show against the same
of the stores that were pushed to it."""

import json
import os
import subprocess
import sys
import urllib.request

import saved_page
from clickhouse import Relay
from common import ROOT, STACKCTL, STORES, Skip, check, exports, run
from test_clickhouse import push, server, store_of
from test_web import Page, Server


def diff(*arguments, status=0, says=""):
    """A diff without its sides."""
    done = subprocess.run([STACKCTL, "diff", "--json", *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode == status, "diff %r: %d, not %d" % (arguments, done.returncode, status), done.stderr)
    check(says in done.stderr, "diff does not say %r" % says, done.stderr)
    if status:
        return None
    rows = {key: value for key, value in json.loads(done.stdout).items() if key != "sides"}
    check(rows["rows"], "a diff without rows", done.stdout)
    return rows


def hosts():
    """A database of hosts with different recordings, one of them with six windows from 10:10 on."""
    url = server().url("views")
    if ["views"] not in server().ask("SHOW DATABASES", "default"):
        server().make("views")
        for kind, host in (("small", "web1"), ("after", "web2"), ("windows", "db1"), ("metrics", "mpi1")):
            push(url, store_of(kind, host))
    return url


WINDOW = "db1@2023-11-15 10:%d..10:%d"


@exports
def test_clickhouse_diff():
    """Two hosts, two times, and a host at two times; by function and by path."""
    url, small, after = hosts(), store_of("small", "web1"), store_of("after", "web2")
    windows = store_of("windows", "db1")
    for by in ("function", "tag"):
        wanted = diff("--by", by, small, after)
        check(diff("--by", by, "-i", url, "web1", "web2") == wanted, "two hosts, by " + by)
        check(diff("--by", by, "-i", url, WINDOW % (11, 12), WINDOW % (21, 22)) ==
              diff("--by", by, windows + "@1", windows + "@2"), "two windows, by " + by)
    check(diff("-i", url, "--host", "db1", "@2023-11-15 10:11..10:12", "@2023-11-15 10:35") ==
          diff(windows + "@1", windows + "@3..6"), "two times of a host")
    check(diff("-i", url, "--from", "2023-11-15", "--host", "web1", "db1", "web1@2023-11-14..2023-11-15") ==
          diff(windows + "@1..6", small), "what a side says counts")
    check(diff("-i", url, "web*@30d..20d", "web?", status=3, says="it has nothing of that time and these hosts")
          is None, "nothing")
    metrics = store_of("metrics", "mpi1")
    check(diff("-i", url, "--metric", "region.time", "mpi1", "mpi1") ==
          diff("--metric", "region.time", metrics, metrics), "a metric")
    diff("-i", url, "--metric", "wait.blocked", "web1", "web2", status=3, says="it has no")
    for wrong in ("web1@9:77", "web1@", "web1@10:00..", "web1@soon..later"):
        diff("-i", url, "web2", wrong, status=2, says="is not a moment such as 14:05")
    diff("-i", url, "web2", "@2h..3h", status=2, says="'3h' is not after the time's start")
    diff("-i", small, "web2", "web1", status=2, says="are for parts of a server's database")
    diff("--since", "1h", small, after, status=2, says="are for parts of a server's database")
    diff("-i", url, "web2", status=2, says="with -i URL, hosts and times")


@exports
def test_clickhouse_flamegraph_diff():
    """The page of a host against another one has the numbers of the two stores'."""
    def data(*arguments):
        path = STORES.path("fleet-diff.html")
        run(STACKCTL, "flamegraph", "--by", "all", "--everything", "-o", path, *arguments)
        return saved_page.answer(path, "difference")
    url, small, after = hosts(), store_of("small", "web1"), store_of("after", "web2")
    pages = data("-i", url, "--host", "web2", "--diff", "web1"), data("-i", after, "--diff", small)
    paths = [saved_page.paths(page, "before", "before_self", "total", "self") for page in pages]
    check(len(paths[0]) > 5 and paths[0] == paths[1], "paths", *paths)
    check(pages[0]["base"]["total"] == 100 and pages[0]["total"] == 100, "two sides", pages[0])
    done = subprocess.run([STACKCTL, "flamegraph", "-i", url, "--diff", "@often", "-o", STORES.path("no.html")],
                          stderr=subprocess.PIPE, text=True)
    check(done.returncode == 2 and "'often' is not a moment" in done.stderr, done.stderr)


def screen_class():
    sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
    try:
        from screen import Screen  # pylint: disable=import-outside-toplevel
    except SystemExit as end:
        raise Skip("python3-pyte is not installed (deps.sh)") from end
    return Screen


@exports
def test_clickhouse_top():
    """The newest windows, again and again: what is pushed meanwhile comes, hosts are told apart, and a server
    that is away is said to be, until it is back."""
    screen, url = screen_class(), server().make("top")
    push(url, store_of("small", "web1"))
    relay = Relay(server().port)
    top = screen([STACKCTL, "top", "--window", "0", "--interval", "600", "-i", server().url("top", relay.port)], 120)
    try:
        top.wait_for("1 window of web1: clickhouse://127.0.0.1:%d/top" % relay.port)
        top.wait_for("100 samples")
        top.wait_for_match(r"61.0%\s+61.0%\s+app::work\(\)")
        push(url, store_of("after", "web2"))
        top.send("r")
        top.wait_for("2 windows of 2 hosts")
        top.wait_for("200 samples")
        top.wait_for_match(r"38.5%\s+38.5%\s+app::work\(\)")
        relay.reset(0, "before")
        top.send("r")
        top.wait_for("the connection broke off")
        top.wait_for_match(r"38.5%\s+38.5%\s+app::work\(\)")
        top.send("r")
        top.wait(lambda lines: not any("broke off" in line for line in lines), "it is back")
        top.send("4")
        top.wait_for("[4 hosts]")
        top.wait_for_match(r"50.0%\s+web1")
        top.wait_for_match(r"50.0%\s+web2")
        top.send("\r")
        top.wait_for("100 samples, ")
        top.wait_for("; host web1")
        top.wait_for_match(r"61.0%\s+61.0%\s+app::work\(\)")
        top.send("\x7f")
        top.wait_for("200 samples")
        top.send("q")
        check(top.finish() == 0, "its end")
    finally:
        top.close()
    for options, status, says in ((("--host", "db*"), 3, "it has nothing of that time and these hosts"),
                                  ((), 3, "it has nothing of that time"),  # these windows are of long ago
                                  (("--pid", "1"), 2, "--pid is not for a server's database")):
        top = screen([STACKCTL, "top", "-i", url, *options], 300)
        check(top.finish() == status and says in " ".join(top.lines()), "top %r" % (options,), top.lines())


@exports
def test_clickhouse_web():
    """`stackctl web` of a host in the database has the numbers of its store, says what a sum cannot show, and its page works."""
    url, small = hosts(), store_of("small", "web1")

    def asked(link, question):
        with urllib.request.urlopen(link.split("#")[0] + "api/" + question) as answer:
            return json.load(answer)
    with Server(url, "--host", "web1", "--since", "2023-11-14") as sums, Server(small) as store:
        for question in ("tree?minimum=0", "tree?minimum=0&direction=callers"):
            got, wanted = asked(sums.link, question), asked(store.link, question)
            check(saved_page.paths(got, "self", "total") == saved_page.paths(wanted, "self", "total"), question, got)
        got, wanted = (asked(link, "around?function=main") for link in (sums.link, store.link))
        check(all(got[key] == wanted[key] for key in ("self", "function_total", "total")), "around main", got)
        page = Page(sums.link, "#tab=functions")
        check(sum(int(row[0]) for row in page.rows()) == 100, "functions", page.rows())
        check("no times" in page.text("#selection") and page.browser.run("return document.getElementById('lanes-room').offsetHeight") == 0, "lanes of a sum")
        page.screenshot("web-clickhouse")
        page.browser.complaints()  # the lanes, which were refused
