# SPDX-License-Identifier: MIT
"""Parquet files, read by DuckDB and by hyparquet: every value of every row against SQL on SQLite.

Two sources of what is right: for the writer, a table that a test program writes into SQLite and
into Parquet; for the tables of recordings, tables.py."""

import json
import os
import re
import shutil
import sqlite3

from common import BUILD, NPM, PATIENCE, ROOT, STACKCTL, STORES, check, exports, node, npm, run
from tables import COLUMNS, UNLABELLED, Source, ask, same, without_labels

MODULES = os.path.join(NPM, "node_modules")
TABLES = ("labels", "locations", "paths", "samples")


def script(name, *arguments):
    """The answers of a reader: (columns, rows) each."""
    lines = run(node(), os.path.join(ROOT, "tests/exports", name), MODULES, *arguments, timeout=PATIENCE)
    answers = [json.loads(line) for line in lines.splitlines()]
    return [(answer["columns"], [tuple(row) for row in answer["rows"]]) for answer in answers]


TIMES = ("start", "end", "when")


def by_duckdb(*files):
    """The rows of each (columns, path). Times are in nanoseconds, as the others have them; DuckDB reads
    those of UTC as microseconds."""
    npm("@duckdb/node-api")
    names = (", ".join(("epoch_ns(\"%s\"::TIMESTAMP_NS)" if name in TIMES else '"%s"') % name
                       for name in columns) for columns, _ in files)
    queries = ["SELECT %s FROM '%s'" % (chosen, path) for chosen, (_, path) in zip(names, files)]
    return [rows for _, rows in script("duckdb.mjs", *queries)]


def as_seen_by(reader, columns, rows):
    """Rows of SQL as a reader has them."""
    times = [name in TIMES and reader == "duckdb" for name in columns]
    return [tuple(value[:-3] + "000" if is_time and value else value
                  for value, is_time in zip(row, times)) for row in rows]


def by_hyparquet(*files):
    npm("hyparquet-compressors")
    npm("hyparquet")
    answers = script("hyparquet.mjs", *(path for _, path in files))
    for (found, _), (columns, _) in zip(answers, files):
        check(found == list(columns), "columns %r" % found)
    return [rows for _, rows in answers]


READERS = {"duckdb": by_duckdb, "hyparquet": by_hyparquet}


# --- the writer -----------------------------------------------------------------------------------

def built(name):
    program = STORES.path(name)
    if not os.path.exists(program):
        libs = run("pkg-config", "--libs", "sqlite3", "libzstd", "zlib").split()
        run("cc", "-std=gnu17", "-D_GNU_SOURCE", "-Ilib", "-Ilib/code", "-Ilib/record", "-Ilib/show", "-Ibpf", "-o", program,
            "tests/exports/%s.c" % name, os.path.join(BUILD, "libstackd.a"), *libs, "-lpthread",
            cwd=ROOT)
    return program


WRITER_COLUMNS = ("tag", "edge", "one", "small", "never", "word", "long", "when")
NUMBERS = ("tag", "edge", "one", "small", "when")


def written(rows, group, page):
    """The file and the database of a table."""
    name = STORES.path("t-%d-%d-%d" % (rows, group, page))
    if not os.path.exists(name + ".db"):
        run(built("make_parquet"), name + ".parquet", name + ".db", str(rows), str(group), str(page))
    return name + ".parquet", sqlite3.connect(name + ".db")


def check_writer(reader):
    """Borders of groups of rows, of pages, and of the runs and groups of 8 within them."""
    columns = ", ".join("CAST(CAST(\"%s\" AS INTEGER) AS TEXT)" % name if name in ("one", "small",
                                                                                  "when")
                        else "ltrim(substr(\"%s\", 1, 19), '0') || substr(\"%s\", 20)" % (name, name)
                        if name in NUMBERS else '"%s"' % name for name in WRITER_COLUMNS)
    for shape in ((0, 100, 10), (1, 100, 10), (7, 100, 100), (8, 8, 8), (17, 8, 3),
                  (1000, 1000, 1000), (1001, 250, 37), (100000, 30000, 7000)):
        path, database = written(*shape)
        wanted = as_seen_by(reader, WRITER_COLUMNS, ask(database, "SELECT %s FROM t" % columns))
        same(READERS[reader]((WRITER_COLUMNS, path))[0], wanted,
             "%s, rows, group, page %r" % (reader, shape))


@exports(long=True)
def test_parquet_writer_hyparquet():
    check_writer("hyparquet")


@exports(long=True)
def test_parquet_writer_duckdb():
    check_writer("duckdb")
    path, database = written(100000, 30000, 7000)
    queries = []
    # Readers skip groups by their least and largest numbers, which are compared without sign.
    for name, operator, value in (("tag", ">=", 1 << 63), ("tag", "<", 1 << 63), ("edge", "=", 1 << 63),
                                  ("edge", "=", (1 << 64) - 1), ("edge", "<", 2),
                                  ("small", "=", (1 << 32) - 1), ("small", "=", 500),
                                  ("small", ">", 990)):
        mine = "SELECT count(*) FROM t WHERE %s %s '%020d'" % (name, operator, value)
        yours = "SELECT count(*) FROM '%s' WHERE %s %s %d" % (path, name, operator, value)
        queries.append((yours, str(ask(database, mine)[0][0])))
    queries += [("SELECT count(DISTINCT row_group_id) FROM parquet_metadata('%s')" % path, "4"),
                ("SELECT count(*) FROM parquet_metadata('%s') WHERE stats_null_count = num_values"
                 % path, "4"),  # `never`
                ("SELECT count(*) FROM parquet_metadata('%s') WHERE compression <> 'ZSTD'" % path, "0"),
                ("SELECT string_agg(DISTINCT path_in_schema, ' ' ORDER BY path_in_schema) FROM "
                 "parquet_metadata('%s') WHERE dictionary_page_offset IS NOT NULL" % path,
                 "edge one small word")]
    for (query, wanted), (_, rows) in zip(queries, script("duckdb.mjs", *(q for q, _ in queries))):
        check(rows == [(wanted,)], "%s: %r, and %s wanted" % (query, rows, wanted))


# --- tables of recordings -------------------------------------------------------------------------


def tables(store, *options, status=0):
    """The folder of an export."""
    folder = STORES.path(os.path.basename(store) + "".join(options) + ".tables")
    shutil.rmtree(folder, ignore_errors=True)
    if status:
        run("sh", "-c", '"$@"; [ $? = %d ]' % status, "-", STACKCTL, "export", "--parquet", folder,
            "-i", store, *options)
    else:
        run(STACKCTL, "export", "--parquet", folder, "-i", store, *options)
    check(sorted(os.listdir(folder)) == [name + ".parquet" for name in TABLES], os.listdir(folder))
    return folder


def rows_of(reader, *folders):
    """By table, of each folder."""
    files = [(COLUMNS[table], os.path.join(folder, table + ".parquet"))
             for folder in folders for table in TABLES]
    answers = iter(READERS[reader](*files))
    return [{table: next(answers) for table in TABLES} for _ in folders]


KINDS = ("small", "hostile", "names", "inferred", "metrics", "waits", "heap", "fleet", "managed", "real", "deep")


def check_all(reader):
    """The files of all exports are read at once: a reader takes half a second to start."""
    exported = [(kind,) for kind in KINDS] + [("small", "--pid", "99"), ("metrics", "--metric", "region.time")]
    folders = [tables(STORES.get(kind), *options) for kind, *options in exported]
    empty, windows = tables(STORES.get("empty"), status=3), tables(STORES.get("windows"), "--recording", "1..6")
    *found, of_empty, of_windows = rows_of(reader, *folders, empty, windows)
    for (kind, *options), rows in zip(exported, found):
        check_tables(reader, rows, kind, *options)
    check_labels(found[KINDS.index("fleet")]["samples"])
    check(of_empty == {table: [] for table in TABLES}, "tables without rows")
    check_windows(reader, of_windows)


def check_tables(reader, rows, kind, *options):
    source = Source(STORES.get(kind), *options)
    same(rows["locations"], source.locations(), kind + ": locations")
    same(rows["paths"], source.paths(), kind + ": paths")
    samples = rows["samples"]
    same(without_labels(samples), as_seen_by(reader, UNLABELLED, source.samples()), kind + ": samples")
    check(len({row[3] for row in samples}) == 1, "windows")


def check_labels(rows):
    """What a thread's cgroup and rank say, and two paths of one tag."""
    labels = sorted((row[9] or "", row[10] or "", row[11] or "", row[8], int(row[16])) for row in rows)
    check(labels == [("", "", "3", "prog", 4), ("", "", "3", "prog", 6), ("", "", "3", "prog", 8),
                     ("docker-%s.scope" % ("0123456789abcdef" * 4), "docker 0123456789ab", "", "prog", 12),
                     ("nginx.service", "", "", "", 10)], "labels %r" % labels)
    check(sorted(row[1] for row in rows) == ["0", "0", "0", "0", "1"], "alternatives %r" % rows)


def check_windows(reader, rows):
    """Each window by itself, the paths and locations of all once."""
    store = STORES.get("windows")
    samples = rows["samples"]
    wanted = []
    for number in range(1, 7):
        source = Source(store, "--recording", str(number))
        wanted += source.samples()
    same(without_labels(samples), as_seen_by(reader, UNLABELLED, wanted), "windows: samples")
    same(rows["paths"], source.paths(), "windows: paths")
    same(rows["locations"], source.locations(), "windows: locations")
    check(len({row[3] for row in samples}) == 6, "windows")
    again = rows_of(reader, tables(store, "--recording", "1..6"))[0]["samples"]
    same(again, samples, "windows, again")


@exports
def test_parquet_duckdb():
    check_all("duckdb")


@exports(long=True)
def test_parquet_hyparquet():
    check_all("hyparquet")


# What docs/TABLES.md shows.
@exports(long=True)
def test_parquet_large():
    """A million paths: the documented queries, by DuckDB over all of them, and the report."""
    npm("@duckdb/node-api")
    store = STORES.get("wide")
    folder = tables(store)
    sizes = {name: os.path.getsize(os.path.join(folder, name + ".parquet")) for name in TABLES}
    print("bytes %r" % sizes)
    with open(os.path.join(ROOT, "docs/TABLES.md"), encoding="utf-8") as file:
        queries = re.findall(r"```sql\n(.*?)```", file.read(), re.DOTALL)
    check(len(queries) == 2, "docs/TABLES.md has %d queries" % len(queries))
    answers = script("duckdb.mjs", *(re.sub(r"\b(samples|paths|locations|labels)\.parquet",
                                            lambda name: os.path.join(folder, name[0]), query)
                                     for query in queries))
    own = {name: int(count) for name, _, count in answers[0][1]}
    report = json.loads(run(STACKCTL, "report", "--json", "--percent-limit", "0", "-i", store,
                            "--view", "flat", "--by", "all"))
    wanted = {report["symbols"][row["symbol"]]["name"]: row["self"]
              for row in report["parts"][0]["functions"]}
    for name, count in own.items():
        check(wanted[name] == count, "%s: %d" % (name, count))
    check(own, "no functions")
    check(answers[1][1], "no path")
