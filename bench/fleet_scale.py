#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A fleet's profile in ClickHouse: bench/fleet_scale.py [--hosts N] [--hours N] [--unique PERCENT,...]
[--zstd]

Records four services (fleet_load.py), pushes these recordings by `stackctl push`, and has the server
make those of a fleet out of them: 10,000 hosts, 24 windows of an hour, 500 tags in each, which are
120 million rows. A host has the most frequent half of its tags from its service, and draws the others
from those that follow; counts differ by host, hour and tag. So many percent of the tags are the host's
own, as those of a program that was built there: they have paths and locations that no other host has.

Prints bytes a row, rows a second, and how long queries take: median and 95th percentile, with the load
of the machine when each began. Takes some ten minutes for 1 %, and longer for more. What the same is
as pprof files, fleet_pprof.py says."""

import argparse
import datetime
import math
import os
import subprocess
import sys
import time

import fleet_load
from fleet_server import FOLDER, STACKCTL, STACKD, ask, start

SERVICES = {"build": ("g++", "gcc", "find"), "web": ("python3", "perl", "openssl"),
            "db": ("sqlite3", "sort"), "batch": ("gzip", "xz", "awk")}
POOL = 1000  # tags of a service that its hosts draw from
PERIOD = 10101010  # of 99 Hz, in ns
COLUMNS = ("tag, alt, host, window, start, end, event, metric, command, unit, container, rank, reason, "
           "quality, inferred, weight, count, push")
PUSHES = "SELECT push FROM (SELECT push FROM windows WHERE {when} ORDER BY end_ns DESC, push LIMIT 1 BY host, window)"
LOAD = os.path.join(FOLDER, "load")


def record(seconds):
    """A store for each service."""
    os.makedirs(LOAD, exist_ok=True)
    fleet_load.prepare(LOAD)
    for number, (service, names) in enumerate(SERVICES.items()):
        if os.path.exists(store_of(service)):
            continue
        subprocess.run([STACKD, "-q", "-F", "997", "-o", store_of(service), "--", sys.executable,
                        fleet_load.__file__, LOAD, str(seconds), str(number), *names], check=True)


def store_of(service):
    return os.path.join(FOLDER, service + ".db")


# --- the fleet ------------------------------------------------------------------------------------

class Fleet:
    """A database with a fleet in it."""

    def __init__(self, server, options, percent):
        self.server, self.options, self.percent = server, options, percent
        self.database = "fleet%d" % percent
        self.url = server.make(self.database)
        self.last = int(time.time()) // 3600 * 3600 - 3600  # the last window's start
        self.first = self.last - 3600 * (options.hours - 1)

    def ask(self, query, **settings):
        return ask(self.server, self.database, query, **settings)

    def number(self, query):
        return float(self.ask(query)[0][0])

    def make(self):
        """Returns rows a second of the real pushes, and of those in the server."""
        pushed, took = 0, 0.0
        for service in SERVICES:
            begin = time.monotonic()
            subprocess.run([STACKCTL, "push", self.url, "-i", store_of(service)], check=True,
                           stderr=subprocess.DEVNULL)
            took += time.monotonic() - begin
            self.draw(service)
        pushed = sum(self.number("SELECT count() FROM " + table) for table in ("drawn_all", "paths", "locations"))
        self.own_paths()
        self.first_hour()
        begin = time.monotonic()
        for start_s in range(self.first, self.last + 1, 3600):
            self.hour(start_s)
        inside = time.monotonic() - begin
        self.windows()
        return pushed / took, self.number("SELECT count() FROM samples") / inside

    def draw(self, service):
        """Takes the samples that were pushed last as the tags that a service's hosts draw from."""
        for table, limit in (("drawn", "LIMIT %d" % POOL), ("drawn_all", "")):
            source = ("(SELECT * FROM samples WHERE metric = 'cpu' AND tag != 0 ORDER BY count DESC, tag %s)" % limit)
            self.ask("CREATE TABLE IF NOT EXISTS %s ENGINE = Memory AS SELECT '' AS service, toUInt64(0) AS place, * "
                     "FROM samples LIMIT 0" % table)
            self.ask("INSERT INTO %s SELECT '%s', rowNumberInAllBlocks(), * FROM %s" % (table, service, source),
                     max_threads=1)
        self.ask("TRUNCATE TABLE samples")
        self.ask("TRUNCATE TABLE windows")
        places = self.number("SELECT count() FROM drawn WHERE service = '%s'" % service)
        if places != POOL:
            sys.exit("%s has %d rows of samples, and %d are needed: record longer" % (service, places, POOL))

    def rows_of_hosts(self):
        """SQL: what each host draws. `own`: the tag is its own."""
        half = self.options.tags // 2
        tail = POOL - half
        services = ", ".join("'%s'" % name for name in SERVICES)
        hosts = ("(SELECT number AS no, [%s][number %% %d + 1] AS service, concat(service, substring(toString("
                 "100000 + number), 2)) AS host FROM (SELECT number FROM system.numbers LIMIT %d))"
                 % (services, len(SERVICES), self.options.hosts))
        drawn = ("(SELECT service, place, tag AS path, alt AS path_alt, event, metric, command, container, rank, "
                 "reason, quality, inferred, count AS n FROM drawn)")
        return ("(SELECT *, cityHash64(no, place) %% 10000 < %d AS own FROM %s ALL INNER JOIN %s USING service "
                "WHERE place < %d OR (place + %d - cityHash64(no) %% %d) %% %d < %d)"
                % (self.percent * 100, hosts, drawn, half, 1000 * tail - half, tail, tail, self.options.tags - half))

    def own_paths(self):
        """Paths and locations that a host alone has."""
        self.ask("CREATE TABLE own ENGINE = MergeTree() ORDER BY (no, path) AS SELECT DISTINCT no, path, path_alt, "
                 "parent, parent_alt, location, location_alt FROM %s ANY INNER JOIN (SELECT tag AS path, alt AS "
                 "path_alt, parent, parent_alt, location, location_alt FROM paths) USING path, path_alt WHERE own"
                 % self.rows_of_hosts(), max_block_size=100)
        self.ask("INSERT INTO paths (tag, alt, parent, parent_alt, location, location_alt) SELECT cityHash64(no, path), 0, "
                 "parent, parent_alt, cityHash64(no, location), 0 FROM own")
        self.ask("CREATE TABLE places ENGINE = Memory AS SELECT *, id AS location, alt AS location_alt FROM locations")
        self.ask("INSERT INTO locations (id, alt, inlined, kind, file_id, build_id, object, offset, frame, function, "
                 "file, line) SELECT cityHash64(no, location), 0, inlined, kind, cityHash64(no, file_id), "
                 "lower(concat(hex(cityHash64(no, file_id)), hex(cityHash64(file_id, no)), '00000000')), object, "
                 "offset, frame, function, file, line FROM (SELECT DISTINCT no, location, location_alt FROM own) "
                 "ALL INNER JOIN places USING location, location_alt")
        self.ask("DROP TABLE own")
        self.ask("DROP TABLE places")
        self.days()

    def days(self):
        """Gives each day of the windows all paths and locations; those that are there are of today."""
        for day in range(self.first // 86400, self.last // 86400 + 1):
            if day == int(time.time()) // 86400:
                continue
            for table, columns in (("paths", "tag, alt, parent, parent_alt, location, location_alt"),
                                   ("locations", "id, alt, inlined, kind, file_id, build_id, object, offset, frame, function, file, line")):
                self.ask("INSERT INTO %s (%s, day) SELECT %s, toDate(%d) FROM %s WHERE day = today()"
                         % (table, columns, columns, day, table))

    def first_hour(self):
        """The rows of an hour, each with how many samples it has in the middle, in the table's order."""
        self.ask("CREATE TABLE hour AS samples ENGINE = MergeTree() ORDER BY (host, command, tag, alt)")
        self.ask("INSERT INTO hour (%s) SELECT if(own, cityHash64(no, path), path), if(own, 0, path_alt), host, 0, 0, 0, "
                 "event, metric, command, concat(service, '.service'), container, rank, reason, quality, inferred, 0, "
                 "1 + intDiv(n * (50 + cityHash64(no) %% 100), 100), 0 FROM %s" % (COLUMNS, self.rows_of_hosts()),
                 max_block_size=100)
        self.ask("OPTIMIZE TABLE hour FINAL")

    def hour(self, start_s):
        self.ask("INSERT INTO samples (%s) SELECT tag, alt, host, cityHash64(host, %d), toDateTime(%d), toDateTime(%d), "
                 "event, metric, command, unit, container, rank, reason, quality, inferred, n * %d, n, "
                 "cityHash64(host, %d, 1) FROM (SELECT *, toUInt64(1 + intDiv(count * (50 + cityHash64(tag, window, "
                 "host, %d) %% 100), 100)) AS n FROM hour)"
                 % (COLUMNS, start_s, start_s, start_s + 3600, PERIOD, start_s, start_s), max_threads=1)

    def windows(self):
        for start_s in range(self.first, self.last + 1, 3600):
            self.ask("INSERT INTO windows SELECT host, window, push, start, toUInt64(toUnixTimestamp(start)) * "
                     "1000000000 + window %% 50000000, toUInt64(toUnixTimestamp(end)) * 1000000000, 1, 'cpu-clock', "
                     "'all (windows)', '6.1.0', sum(count), 0 FROM samples WHERE start = toDateTime(%d) "
                     "GROUP BY host, window, push, start, end" % start_s)

    def sizes(self):
        """Rows and bytes of a table, as [table, rows, bytes]."""
        return self.ask("SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = '%s' "
                        "AND table IN ('samples', 'windows', 'paths', 'locations') GROUP BY table ORDER BY table DESC"
                        % self.database)

    def settle(self):
        """Waits until nothing is merged."""
        while self.number("SELECT count() FROM system.merges WHERE database = '%s'" % self.database):
            time.sleep(1)


# --- queries --------------------------------------------------------------------------------------

class Queries:
    """The usual ones; each method is one of them, run once."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.hour = "start >= toDateTime(%d)" % fleet.last
        self.function = fleet.ask("SELECT function FROM (%s) WHERE function IS NOT NULL LIMIT 1"
                                  % self.top(self.hour, "1", "function, n"))[0][0]
        self.tag, self.alt = fleet.ask("SELECT tag, alt FROM samples WHERE metric = 'cpu' AND %s GROUP BY tag, alt ORDER "
                                       "BY sum(count) DESC, tag LIMIT 1" % self.hour)[0]

    @staticmethod
    def top(when, hosts, columns, counted="sum(count) AS n", names=("n",), order="n DESC"):
        """The query of docs/FLEETS.md."""
        sums = ", ".join("sum(%s) AS %s" % (name, name) for name in names)
        return ("SELECT %s FROM (SELECT function, %s FROM (SELECT id, location_alt, %s FROM (SELECT tag, alt, %s FROM "
                "samples WHERE metric = 'cpu' AND %s AND %s AND push IN (%s) GROUP BY tag, alt) ANY INNER JOIN (SELECT "
                "tag, alt, location AS id, location_alt FROM paths) USING tag, alt GROUP BY id, location_alt) ANY INNER "
                "JOIN (SELECT id, alt AS location_alt, argMax(function, inlined) AS function FROM locations GROUP BY id, "
                "alt) USING id, location_alt GROUP BY function) ORDER BY %s"
                % (columns, sums, sums, counted, when, hosts, PUSHES.format(when=when), order))

    def top_functions(self):
        return self.fleet.ask(self.top(self.hour, "host LIKE 'web%'", "function, n") + " LIMIT 20")

    def diff(self):
        """The first half of the time against the second."""
        middle = self.fleet.first + (self.fleet.last + 3600 - self.fleet.first) // 2
        counted = "sumIf(count, start < toDateTime(%d)) AS old, sumIf(count, start >= toDateTime(%d)) AS new" % (middle, middle)
        return self.fleet.ask(self.top("start >= toDateTime(%d)" % self.fleet.first, "1", "function, old, new", counted, ("old", "new"),
                                       "abs(toInt64(new) - toInt64(old)) DESC") + " LIMIT 20")

    def by_host(self):
        return self.fleet.ask("SELECT host, sum(count) AS n FROM samples WHERE metric = 'cpu' AND %s AND push IN (%s) "
                              "GROUP BY host ORDER BY n DESC LIMIT 20" % (self.hour, PUSHES.format(when=self.hour)))

    def tag_path(self):
        """The frames of a tag, from its leaf up."""
        tag, alt, places = self.tag, self.alt, []
        while tag != "0":
            tag, alt, place, place_alt = self.fleet.ask("SELECT parent, parent_alt, location, location_alt FROM paths "
                                                        "WHERE tag = %s AND alt = %s LIMIT 1" % (tag, alt))[0]
            places.append("(%s, %s)" % (place, place_alt))
        return self.fleet.ask("SELECT id, alt, inlined, function, object FROM locations WHERE (id, alt) IN (%s)"
                              % ", ".join(places))

    def tag_hours(self):
        return self.fleet.ask("SELECT toStartOfHour(start) AS hour, sum(count), uniqExact(host) FROM samples WHERE metric "
                              "= 'cpu' AND tag = %s AND start >= toDateTime(%d) AND push IN (%s) GROUP BY hour ORDER BY hour"
                              % (self.tag, self.fleet.first, PUSHES.format(when="1")))

    def flamegraph(self, *options):
        times = [datetime.datetime.utcfromtimestamp(self.fleet.last + s).strftime("%Y-%m-%d %H:%M:%S") for s in (1800, 3600)]
        done = subprocess.run([STACKCTL, "flamegraph", "-i", self.fleet.url, "--from", times[0], "--to", times[1], "-o",
                               os.path.join(FOLDER, "flame.html"), *options], env=dict(os.environ, TZ="UTC"), check=False,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit("stackctl flamegraph: " + done.stderr)
        return done

    def all(self):
        return (("flame graph of the fleet's last hour (stackctl)", self.flamegraph),
                ("flame graph of one function, last hour (stackctl)", lambda: self.flamegraph("--focus", self.function)),
                ("top functions of a service, last hour", self.top_functions),
                ("hosts with the most samples, last hour", self.by_host),
                ("one tag's path", self.tag_path),
                ("one tag's hours and hosts, %d hours" % self.fleet.options.hours, self.tag_hours),
                ("diff of two halves of %d hours" % self.fleet.options.hours, self.diff))


def measured(query, repeat):
    """Seconds: p50 and p95, after one that is not counted."""
    query()
    times = []
    for _ in range(repeat):
        begin = time.monotonic()
        query()
        times.append(time.monotonic() - begin)
    return [sorted(times)[math.ceil(share * repeat) - 1] for share in (0.5, 0.95)]


def say(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def measure(fleet, repeat):
    rows = {table: (int(n), int(size)) for table, n, size in fleet.sizes()}
    say("%d %%: bytes a row of samples" % fleet.percent, "%.2f" % (rows["samples"][1] / rows["samples"][0]))
    say("with windows, paths and locations", "%.2f" % (sum(size for _, size in rows.values()) / rows["samples"][0]))
    for table, (n, size) in rows.items():
        say(table, "{:,} rows, {:,} bytes".format(n, size))
    queries = Queries(fleet)
    for name, query in queries.all():
        load = os.getloadavg()[0]
        p50, p95 = measured(query, repeat)
        say(name, "%.3f" % p50, "%.3f" % p95, "load %.1f" % load)


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("hosts", 10000), ("hours", 24), ("tags", 500), ("repeat", 20), ("seconds", 40)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--unique", default="1,10,50")
    parser.add_argument("--zstd", action="store_true", help="have the server compress by zstd instead of LZ4")
    options = parser.parse_args()
    server = start(options.zstd)
    try:
        record(options.seconds)
        for percent in map(int, options.unique.split(",")):
            fleet = Fleet(server, options, percent)
            pushed, inside = fleet.make()
            fleet.settle()
            say("rows a second: stackctl push", "%.0f" % pushed)
            say("rows a second: INSERT ... SELECT", "%.0f" % inside)
            measure(fleet, options.repeat)
            ask(server, "default", "DROP DATABASE " + fleet.database)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
