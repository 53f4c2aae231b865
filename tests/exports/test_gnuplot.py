# SPDX-License-Identifier: MIT
"""stackctl fold's script for gnuplot, run by gnuplot."""

import os
import re
import subprocess
import xml.dom.minidom

from common import PATIENCE, STACKCTL, STORES, check, exports, need, run


def script(kind, *options):
    path = STORES.path(kind + ".gp")
    run(STACKCTL, "fold", "-i", STORES.get(kind), "--region", "pass", "-o", path, *options)
    return path


def draw(path, terminal, name):
    """The bytes of a picture. gnuplot's status is 0 after many mistakes, but it names them."""
    picture = STORES.path(name)
    done = subprocess.run(["gnuplot", "-e", "set terminal %s; set output '%s'" % (terminal, picture), path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, text=True,
                          cwd=STORES.folder)
    check(done.returncode == 0 and not done.stdout, "gnuplot complains", done.stdout[:2000])
    with open(picture, "rb") as file:
        return file.read()


def texts(svg):
    """All texts of an SVG picture; gnuplot writes spaces as no-break spaces there."""
    document = xml.dom.minidom.parseString(svg)
    return ["".join(node.data for node in text.getElementsByTagName("*") for node in node.childNodes
                    if node.nodeType == node.TEXT_NODE).replace("\u00a0", " ").strip()
            if text.getElementsByTagName("*") else text.firstChild.data.replace("\u00a0", " ").strip()
            for text in document.getElementsByTagName("text") if text.firstChild]


@exports
def test_gnuplot():
    need("gnuplot")
    for kind in "folded", "markup", "unread", "locked", "modes":
        path = script(kind, *(["--group=1"] if kind == "modes" else []))
        shown = texts(draw(path, "svg size 1200,900", kind + ".svg"))
        check(any(text.startswith("pass") and " samples folded" in text for text in shown), kind, shown)
        check({"routines", "solve", "assemble", "output"} <= set(shown), "routines of " + kind, shown)
        has_curve = kind not in ("unread",)
        check(("rate" in shown) == has_curve and ("95 % band" in shown) == has_curve, kind, shown)
        if kind == "folded":
            check("var:cells" in shown, "the counter's name", shown)
            check(shown.count("solve") == 2, "a phase is named by its function", shown)
        if kind == "markup":
            check(any("<script>alert(1)</script>" in text for text in shown), "the name as it is", shown)
        if kind == "locked":
            check(any("WARNING" in text for text in shown), "a warning", shown)
    image = draw(script("folded"), "pngcairo size 1200,900", "folded.png")
    check(image.startswith(b"\x89PNG") and len(image) > 5000, "an empty picture")
    folder = os.environ.get("STACKD_EXPORT_LOGS")
    if folder:
        with open(os.path.join(folder, "gnuplot.png"), "wb") as file:
            file.write(image)


@exports
def test_gnuplot_data():
    """The script has the table's numbers."""
    with open(script("folded"), encoding="utf-8") as file:
        blocks = dict(re.findall(r"^(\$\w+) << END\n(.*?)^END$", file.read(), re.M | re.S))
    table = STORES.path("folded.csv")
    run(STACKCTL, "fold", "-i", STORES.get("folded"), "--region", "pass", "-o", table)
    with open(table, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split(",") for line in file]
    curve = [[float(field) for field in line[2:]] for line in lines if line[0] == "curve"]
    rows = [[float(field) for field in line.split()] for line in blocks["$counter0"].splitlines()]
    check(len(rows) == len(curve) + 1 == 1001, "rows", len(rows))
    for (x, y, low, high, middle, *rate), wanted in zip(rows[1:], curve):
        got = [x / 100, y / 100, low / 100, high / 100, *rate]
        check(all(abs(a - b) <= 1e-6 * max(abs(b), 1e-3) for a, b in zip(got, wanted)), "a row", got, wanted)
        check(abs(middle / 100 - (x / 100 - 0.0005)) < 1e-9, "a cell's middle", middle, x)
    shares = [[float(field) for field in line.split()] for line in blocks["$routines"].splitlines()]
    check([row[0] for row in shares[:4]] == [0, 1, 1, 2] and shares[-1][0] == 100, "columns", shares[:4])
    check(all(row[1] == 0 and row[-1] == 100 and row[1:] == sorted(row[1:]) for row in shares), "shares")


@exports
def test_gnuplot_hostile():
    """Names neither end a string, nor run a command, nor are taken for markup."""
    need("gnuplot")
    store = STORES.get("traced")
    path = STORES.path("hostile.gp")
    run(STACKCTL, "fold", "-i", store, "--region", "outer*", "-o", path)
    shown = texts(draw(path, "svg size 1200,900", "hostile.svg"))
    check(any("it's `a` \u00e9\\x0a7 1 x" in text for text in shown), "the counter's name", shown)
    check(any(text.startswith("outer\\x0a2:1:1:1:1:0:1:1: 1 passes") for text in shown), "the title", shown)
