# SPDX-License-Identifier: MIT
"""The files of `stackctl flamegraph`: their numbers are the report's, and a browser shows them. (What the page does
when it is clicked and typed at, test_web.py judges of the served page, which is the same.)"""

import urllib.parse

import saved_page
from common import STACKCTL, STORES, check, compare, exports, report, run
from test_web import Page, find_node

COLORS = """
	const [node, share] = arguments, f = window.stackd.app.tabs[window.stackd.app.store.state.tab].tab.flame;
	const canvas = f.canvas, box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width, at = f.find(node);
	const pixels = canvas.getContext("2d").getImageData((at.x + share * at.w) * ratio, (at.y + 15) * ratio, 24, 1).data;
	const seen = new Set();
	for (let i = 0; i < pixels.length; i += 4) seen.add(pixels.slice(i, i + 3).join());
	return [seen.size, Array.from(pixels.slice(0, 3))];
"""


def made(store, *options):
    """The path of a page."""
    path = STORES.path("page.html")
    run(STACKCTL, "flamegraph", "-i", store, "-o", path, *options)
    return path


def tree(store, *options):
    """{path: (object, is inlined, total, self, reconstructed)} by the report."""
    answer, rows = report(store, "--view", "tree", "--by", "command", *options), {}
    for part in answer["parts"]:
        head = "command " + part["comm"]
        paths = []
        for node in part["nodes"]:
            symbol = answer["symbols"][node["symbol"]]
            above = paths[node["parent"]] if node["parent"] >= 0 else head
            paths.append(above + "\1" + symbol["name"])
            rows[paths[-1], symbol["object"], node["inlined"]] = (node["total"], node["self"], node["reconstructed"])
    return rows


def nodes(answer):
    """The same by a page's answer, with those of commands."""
    columns, frames, strings, paths, rows = answer["nodes"], answer["frames"], answer["strings"], [], {}
    for i, (parent, frame) in enumerate(zip(columns["parent"], columns["frame"])):
        name = strings[frames["name"][frame]]
        paths.append(paths[parent] + "\1" + name if parent > 0 else name)
        inferred = columns.get("inferred")
        rows[paths[-1], strings[frames["object"][frame]], answer["kinds"][frames["kind"][frame]] == "inlined"] = (
            columns["total"][i], columns["self"][i], inferred[i] if inferred else 0)
    return rows


@exports
def test_flamegraph_numbers():
    """Each path has the amounts of the report, and commands add up to all."""
    for kind in ("small", "inferred", "real"):
        store = STORES.get(kind)
        answer = saved_page.answer(made(store, "--everything"), "tree")
        got = nodes(answer)
        heads = {key[0]: row[0] for key, row in got.items() if "\1" not in key[0] and key[0] != "all"}
        check(sum(heads.values()) == report(store)["periods"] == answer["total"], "commands: %r" % heads)
        compare({key: row for key, row in got.items() if "\1" in key[0]}, tree(store), "flame graph, " + kind)


@exports
def test_flamegraph_page():
    """A file opens without a server, shows what the verb's options choose, and marks what was not observed."""
    page = Page("file://" + made(STORES.get("small")))
    quality = page.text("#quality")
    check("100 samples" in quality and "3 lost" in quality and "99.0 % complete" in quality, quality)
    check(page.state()["by"] == "command", "commands come first", page.state())
    _, middle = find_node(page, "fact")
    page.browser.point(*middle)
    page.until_text("#tip", "10.0 % of all")
    page.screenshot("flamegraph")
    page.click("#tab-functions")
    check(sum(int(row[0]) for row in page.rows()) == 100, "functions", page.rows())
    page.check_quiet()

    page = Page("file://" + made(STORES.get("late"), "--comm", "*", "--flame", "--by", "all"))
    check(page.text("#total").startswith("cpu: 50 "), page.text("#total"))
    _, middle = find_node(page, "work")
    page.browser.point(*middle)  # a sample counts for the periods that it stands for
    page.until_text("#tip", "80.0 % of all")
    y = "return window.stackd.app.tabs.flame.tab.flame.middle(0)[1]"
    low = page.browser.run(y)
    page.browser.run("document.getElementById('scroll').focus()")
    page.press("i")
    check(page.browser.run(y) < low and not page.state()["bottom"], "--flame, and i turns it over", low)

    page = Page("file://" + made(STORES.get("inferred"), "--by", "all"))
    main, work = find_node(page, "main")[0], find_node(page, "work")[0]
    check("37.5 % reconstructed" in page.text("#quality"), page.text("#quality"))
    page.screenshot("flamegraph-reconstructed")
    check(page.browser.run(COLORS, main, 0.9)[0] > 2 * page.browser.run(COLORS, main, 0.4)[0], "what is inferred is plain")
    check(page.browser.run(COLORS, work, 0.9)[0] <= page.browser.run(COLORS, work, 0.4)[0] + 1, "what was observed is not")


@exports
def test_flamegraph_heap():
    """Beside what was live at the peak, the page has the heap over time."""
    page = Page("file://" + made(STORES.get("heap"), "--metric", "heap.peak"), "")
    check(page.text("#total").startswith("heap.peak: "), "the metric", page.text("#total"))
    page.click("#tab-heap")
    page.until_text("#panel figcaption", "500 B ± 36 B live at the end, peak 1.46 KiB ± 50 B at 0.002")
    page.check_quiet()


@exports
def test_flamegraph_diff():
    """What grew is orange and what shrank is blue, within one tree of both recordings."""
    page = Page("file://" + made(STORES.get("after"), "--diff", STORES.get("small")))
    find = ("const t = window.stackd.app.tabs.difference.tab.tree; let best = 0; for (let i = 1; i < t.size; i++)"
            "if (t.name(i) === arguments[0] && (!best || t.total[2][i] > t.total[2][best])) best = i; return best")
    fact, work, main = (page.browser.run(find, name) for name in ("fact", "app::work()", "main"))
    sides = "const t = window.stackd.app.tabs.difference.tab.tree; return [0, 1].map(side => t.total[side][arguments[0]])"
    check(page.browser.run(sides, fact) == [10, 55] and page.browser.run(sides, work) == [60, 15], "both sides")
    page.screenshot("flamegraph-diff")
    red, _, blue = page.browser.run(COLORS, fact, 0.8)[1]
    check(red > blue + 30, "what grew is not orange")
    red, _, blue = page.browser.run(COLORS, work, 0.8)[1]
    check(blue > red + 30, "what shrank is not blue")
    red, _, blue = page.browser.run(COLORS, main, 0.9)[1]
    check(abs(red - blue) < 30, "what stayed has a colour")
    page.browser.point(*page.browser.run("return window.stackd.app.tabs.difference.tab.flame.middle(arguments[0])", fact))
    page.until_text("#tip", "before 10 samples, after 55 samples")
    base = page.browser.run("return document.getElementById('before').selectedOptions[0].textContent")
    check(base.endswith("small.db"), "what it is compared with", base)
    for per, unit in (("second", "samples a second"), ("share", "%")):
        page.browser.run("window.stackd.app.store.set({ per: arguments[0] })", per)
        page.settle()
        check(page.browser.run("return window.stackd.app.tabs.difference.tab.unit") == unit and "not in this file" not in page.text("#panel"), "compared by " + per)
    shares = page.browser.run(sides, page.browser.run(find, "fact"))
    check(all(abs(share - wanted) < 1e-6 for share, wanted in zip(shares, (0.1, 0.55))), "shares", shares)
    page.click("#tab-flame")
    check(page.text("#total").startswith("cpu: 100 "), "the flame graph of what is compared", page.text("#total"))
    check(page.browser.run("return window.stackd.app.tabs.flame.tab.tree.name(1)").startswith("command "), "commands")
    page.check_quiet()


@exports
def test_flamegraph_names():
    """Names of programs are text."""
    for kind, some in (("names", "</script><script>alert(1)</script>"), ("hostile", "evil")):
        path = made(STORES.get(kind))
        page = Page("file://" + path, saved_page.data(path)["state"] + "&search=" + urllib.parse.quote("<script>" if kind == "names" else "evil"))
        names = page.browser.run("const t = window.stackd.app.tabs.flame.tab.tree, n = [];"
                                 "for (let i = 1; i < t.size; i++) n.push(t.name(i)); return n")
        check(any(some in name for name in names), "%s: %r" % (kind, names))
        check(not any(ord(letter) < 32 for name in names for letter in name), "control characters")
        page.until_text("#found", "found")
        page.check_quiet()


@exports
def test_flamegraph_deep():
    """Ten thousand calls deep, with the root at the bottom and at the top."""
    page = Page("file://" + made(STORES.get("deep"), "--everything", "--flame"))
    leaf = page.browser.run("return window.stackd.app.tabs.flame.tab.tree.size - 1")
    check(leaf >= 10000, "%d frames" % leaf)
    page.browser.run("document.getElementById('scroll').focus()")
    page.press("i")
    page.browser.run("const s = document.getElementById('scroll'); s.scrollTop = s.scrollHeight")
    page.settle()
    page.browser.point(*page.browser.run("return window.stackd.app.tabs.flame.tab.flame.middle(arguments[0])", leaf), True)
    page.settle()
    check(page.browser.run("return window.stackd.app.tabs.flame.tab.flame.zoom") == leaf, "a click so far down")
    page.screenshot("flamegraph-deep")
