# SPDX-License-Identifier: MIT
"""What the tables of recordings (docs/TABLES.md) must have in them, by SQL on SQLite.

The store itself has recordings and objects as rows; the tag export, which is another way from a
store to its paths and sums, is put into the same database."""

import collections
import sqlite3

from common import STACKCTL, check, run


def same(got, wanted, what):
    """All rows, in any order."""
    got, wanted = collections.Counter(got), collections.Counter(wanted)
    check(got == wanted, "%s: rows differ" % what, "only in the file:",
          list((got - wanted).items())[:5], "only in SQL:", list((wanted - got).items())[:5])
    print("%s: %d rows agree" % (what, sum(got.values())))


def ask(database, sql, *arguments):
    return database.execute(sql, arguments).fetchall()


def unescaped(field):
    """docs/TAGS.md has words of an id with '.N' behind it."""
    tag, _, alt = field.partition(".")
    return str(int(tag, 16)), alt or "0"


def number(field):
    """A field in hexadecimal that may be missing."""
    return str(int(field[0], 16)) if field else None


class Source:
    """A store, and its tag export, in one SQLite database."""

    def __init__(self, store, *options):
        self.database = sqlite3.connect(":memory:")
        self.execute("ATTACH ? AS store", "file:%s?immutable=1" % store)
        self.execute("CREATE TABLE object(number, kind, file_id, build_id, path, layout)")
        self.execute("CREATE TABLE location(id, alt, object, offset, frame, inlined, function, file,"
                     " line, function_start)")
        self.execute("CREATE TABLE tag(tag, alt, parent, parent_alt, location, location_alt)")
        self.execute("CREATE TABLE sample(tag, alt, metric, comm, count, weight, reason, quality,"
                     " inferred)")
        lines = run(STACKCTL, "export", "--tags", "-i", store, *options).split("\n")
        self.inlined = 0
        for line in lines[1:]:
            self.read(*line.split("\t"))

    def execute(self, sql, *values):
        self.database.execute(sql, values)

    def insert(self, table, *values):
        self.execute("INSERT INTO %s VALUES(%s)" % (table, ",".join("?" * len(values))), *values)

    def read(self, record, *f):
        if record == "recording":
            self.recording = int(f[0])
        elif record == "object":
            kind = "python" if f[1] == "managed" and f[4][0] != "[" else f[1]
            self.insert("object", f[0], kind, str(int(f[2], 16)), f[3] or None, f[4], number(f[5:6]))
        elif record == "location":
            self.inlined, self.location = 0, unescaped(f[0]) + (f[1], str(int(f[2], 16)), f[3])
            self.insert("location", *self.location, "0", f[4] or None, f[5] or None,
                        f[6] if f[6] != "0" else None, number(f[7:8]))
        elif record == "inlined":
            self.inlined += 1
            self.insert("location", *self.location, str(self.inlined), f[1] or None, f[2] or None,
                        f[3] if f[3] != "0" else None, None)
        elif record == "tag":
            self.insert("tag", *unescaped(f[0]), *unescaped(f[1]), *unescaped(f[2]))
        elif record == "sample":
            self.insert("sample", *unescaped(f[0]), "cpu", f[2], int(f[3]), int(f[4]), *f[6:9])
        elif record == "value":
            self.insert("sample", *unescaped(f[0]), f[3], f[2], int(f[4]), int(f[5]), *f[7:10])

    def locations(self):
        return ask(self.database, """SELECT id, alt, inlined, kind, file_id, build_id, path, offset,
            frame, function, file, line, layout, function_start, (SELECT CASE WHEN e.function IS NULL THEN
            CASE WHEN e.function_start IS NULL THEN '0' ELSE '1' END WHEN e.line IS NULL THEN '2' ELSE '3' END
            FROM location e WHERE e.id = location.id AND e.alt = location.alt AND e.inlined = '0')
            FROM location JOIN object ON number = object""")

    def paths(self):
        return ask(self.database, "SELECT * FROM tag")

    def samples(self):
        """Without what no other export has: the window's number, labels, the metrics that are sums of
        others, and the variances of metrics."""
        return ask(self.database, """SELECT tag, alt, host, CAST(start_unix_ns AS TEXT),
            CAST(start_unix_ns + end_ns - start_ns AS TEXT), event, metric, comm, reason, quality,
            inferred, CAST(sum(weight) AS TEXT), CAST(sum(count) AS TEXT)
            FROM sample, store.recordings WHERE id = ? AND metric NOT IN ('wait', 'wall')
            AND metric NOT LIKE '%.variance'
            GROUP BY tag, alt, metric, comm, reason, quality, inferred""", self.recording)


SAMPLE_COLUMNS = ("tag", "alt", "host", "window", "start", "end", "event", "metric", "command", "unit",
                  "container", "rank", "reason", "quality", "inferred", "weight", "count", "label_set")
COLUMNS = {
    "locations": ("id", "alt", "inlined", "kind", "file_id", "build_id", "object", "offset", "frame",
                  "function", "file", "line", "layout", "function_start", "named"),
    "paths": ("tag", "alt", "parent", "parent_alt", "location", "location_alt"),
    "labels": ("id", "key", "value"),
    "samples": SAMPLE_COLUMNS,
}
LABELS = ("window", "unit", "container", "rank", "label_set")
UNLABELLED = [name for name in SAMPLE_COLUMNS if name not in LABELS]


def added_up(rows):
    """Rows whose last two columns, weight and count, are added up over all others."""
    sums = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        sums[row[:-2]][0] += int(row[-2])
        sums[row[:-2]][1] += int(row[-1])
    return [key + (str(weight), str(count)) for key, (weight, count) in sums.items()]


def without_labels(rows):
    """Added up over what a tag export does not have."""
    keep = [i for i, name in enumerate(SAMPLE_COLUMNS) if name not in LABELS]
    return added_up(tuple(row[i] for i in keep) for row in rows)
