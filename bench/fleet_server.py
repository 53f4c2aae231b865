# SPDX-License-Identifier: MIT
"""A ClickHouse server for the fleet's benches, with its data below build/fleet, and how it is asked."""

import os
import sys
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "build", "fleet")
STACKD, STACKCTL = os.path.join(ROOT, "build", "stackd"), os.path.join(ROOT, "build", "stackctl")

sys.path.insert(0, os.path.join(ROOT, "tests", "exports"))
import clickhouse  # noqa: E402  (of the tests)


ZSTD = ("<compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio>"
        "<method>zstd</method></case></compression></yandex>")


def start(has_zstd=False):
    """A server that runs until its stop(), and compresses by LZ4 as it does by itself, or by zstd."""
    os.makedirs(FOLDER, exist_ok=True)
    clickhouse.BUILD = FOLDER
    if has_zstd:
        clickhouse.CONFIG = clickhouse.CONFIG.replace("</yandex>", ZSTD)
    return clickhouse.Server(on_disk=True)


def ask(server, database, query, **settings):
    """Rows of text; settings are ClickHouse's."""
    url = "http://127.0.0.1:%d/?%s" % (server.port, urllib.parse.urlencode(dict(settings, database=database)))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, query.encode(), timeout=7200) as answer:
            return [line.split("\t") for line in answer.read().decode().splitlines()]
    except urllib.error.HTTPError as error:
        sys.exit("%s\n%s" % (query, error.read().decode()))
