# SPDX-License-Identifier: MIT
"""The flame graph, looked at in a browser: its contents, and the effect of clicks and keys."""

import os

from common import STACKCTL, STORES, check, compare, exports, report, run, shared_browser

NODES = """
const f = window.flamegraph, nodes = [];
for (let i = 1; i < f.count; i++)
	nodes.push([f.path(i).join("\\u0001"), f.object(i), f.isInlined(i), f.samples(i), f.self(i),
		f.inferred(i)]);
return nodes;
"""


class Page:
    """A flame graph, opened."""

    def __init__(self, store, *options):
        self.browser = shared_browser()
        self.path = STORES.path("page.html")
        run(STACKCTL, "flamegraph", "-i", store, "-o", self.path, *options)
        self.browser.requests()  # of pages before
        self.browser.open("file://" + self.path)
        check(self.browser.run("return 'ready' in document.documentElement.dataset"),
              "it was not drawn", self.browser.complaints())
        self.check_quiet()

    def check_quiet(self):
        """Nothing was fetched, nothing went wrong, and no name became a script."""
        check(not self.browser.complaints(), "complaints")
        fine = ("file://" + self.path, "data:", "chrome:", "chrome-untrusted:")
        asked = [url for url in self.browser.requests() if not url.startswith(fine)]
        check(not asked, "the page asked for %s" % asked)
        check(self.browser.run("return document.scripts.length") == 2, "scripts")

    def find(self, name):
        return self.browser.run("return window.flamegraph.find(arguments[0])", name)

    def point(self, node, click=False):
        middle = self.browser.run("return window.flamegraph.middle(arguments[0])", node)
        self.browser.point(*middle, click)
        self.drawn()

    def drawn(self):
        """Until the page has drawn what has changed."""
        self.browser.run("window.seen = 0; const after = requestAnimationFrame;"
                         "after(() => after(() => { window.seen = 1; }))")
        self.browser.until("return window.seen")

    def press(self, *keys):
        self.browser.press(*keys)
        self.drawn()

    def at(self):
        return self.browser.run("const f = window.flamegraph;"
                                "return [f.name(f.view.zoom), f.name(f.view.at)]")

    def text(self, css):
        return self.browser.run("return document.querySelector(arguments[0]).textContent", css)

    def screenshot(self, name):
        image = self.browser.screenshot()
        check(image.startswith(b"\x89PNG") and len(image) > 5000, "the screenshot is empty")
        folder = os.environ.get("STACKD_EXPORT_LOGS")
        if folder:
            with open(os.path.join(folder, name + ".png"), "wb") as file:
                file.write(image)
        return image

    def colors(self, node, share):
        """The number of colours in the middle row of a frame, at some share of its width; and the
        first of them, as red, green, blue."""
        return self.browser.run("""
            const [node, share] = arguments, f = window.flamegraph;
            const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
            const [x, y] = f.middle(node), ratio = canvas.width / box.width;
            const w = f.samples(node) / f.samples(f.view.zoom) * box.width;
            const from = (x - box.left - w / 2 + share * w) * ratio;
            const row = (y - box.top + 6) * ratio;
            const pixels = canvas.getContext("2d").getImageData(from, row, 24, 1).data;
            const seen = new Set();
            for (let i = 0; i < pixels.length; i += 4) seen.add(pixels.slice(i, i + 3).join());
            return [seen.size, Array.from(pixels.slice(0, 3))];
            """, node, share)


def tree(store, *options):
    """{path: (object, is inlined, total, self, reconstructed)} by the report."""
    answer, rows = report(store, "--view", "tree", "--by", "command", *options), {}
    for part in answer["parts"]:
        head = "command " + part["comm"]
        rows[head] = ("", False, part["samples"], 0, 0)
        paths = []
        for node in part["nodes"]:
            symbol = answer["symbols"][node["symbol"]]
            above = paths[node["parent"]] if node["parent"] >= 0 else head
            paths.append(above + "\1" + symbol["name"])
            key = (paths[-1], symbol["object"], node["inlined"])
            rows[key] = (node["total"], node["self"], node["reconstructed"])
    return rows


@exports
def test_flamegraph_numbers():
    for kind in ("small", "inferred", "real"):
        store = STORES.get(kind)
        page = Page(store, "--everything")
        got = {(path, in_object, bool(is_inlined)): (total, own, inferred)
               for path, in_object, is_inlined, total, own, inferred in page.browser.run(NODES)}
        wanted = {key: row for key, row in tree(store).items() if isinstance(key, tuple)}
        heads = {key: row[0] for key, row in got.items() if "\1" not in key[0]}
        check(sum(heads.values()) == report(store)["periods"], "commands: %r" % heads)
        compare({key: row for key, row in got.items() if "\1" in key[0]}, wanted,
                "flame graph, " + kind)


@exports
def test_flamegraph_page():
    page = Page(STORES.get("small"))
    quality = page.text(".quality")
    check("100 samples" in quality and "3 lost" in quality and "99.0% complete" in quality, quality)
    before = page.screenshot("flamegraph")
    page.point(page.find("fact")[0], click=True)
    check(page.at() == ["fact", "fact"], "after a click: %r" % page.at())
    check("10 samples, 10.0 % of all" in page.text("#detail"), page.text("#detail"))
    check(page.screenshot("flamegraph-zoomed") != before, "a click changed nothing")
    page.point(page.find("main")[0], click=True)
    check(page.at()[0] == "main", "a click on a caller: %r" % page.at())
    page.press("0")
    check(page.at()[0] == "all", "key 0: %r" % page.at())
    page.point(page.find("do_sys")[0])
    detail = page.text("#detail")
    check("do_sys" in detail and "[kernel.kallsyms]" in detail, "hovering: " + detail)


@exports
def test_flamegraph_periods():
    """A sample counts for the periods that it stands for, in the head, the frames and their errors."""
    store = STORES.get("late")
    page = Page(store)
    check(page.text(".quality").startswith("50 samples,"), page.text(".quality"))
    page.point(page.find("work")[0])
    check("40 samples, 80.0 % of all" in page.text("#detail"), page.text("#detail"))
    page = Page(store, "--diff", store)
    page.point(page.find("work")[0])
    check("+0 samples ± 29 samples" in page.text("#detail"), page.text("#detail"))


@exports
def test_flamegraph_heap():
    """Beside what was live at the peak, the page has the heap over time."""
    page = Page(STORES.get("heap"), "--metric", "heap.peak")
    text = page.text("#heap")
    check("Heap of process 12 prog over time: peak 1.465 KiB at 0.002 s, at the end 500 bytes" in
          text, text)
    shape = page.browser.run("return document.querySelector('#heap path').getBBox().height")
    check(shape == 100, "the curve: %r" % shape)
    check(not Page(STORES.get("small")).text("#heap"), "a heap of samples")


@exports
def test_flamegraph_search():
    page = Page(STORES.get("small"))
    for text, words in (("FACT", "10.0 %: 10 of 100 samples, 3 frames"),
                        ("/^fact$/", "10 of 100"), ("/(/", "not an expression"),
                        ("nothing", "no match")):
        page.press("/")
        page.browser.run("document.getElementById('search').value = ''")
        page.browser.type("#search", text)
        check(words in page.text("#found"), "%s: %s" % (text, page.text("#found")))
        page.press("Escape")
        check(page.text("#found") in ("", "not an expression"), page.text("#found"))
    page.press("/")
    page.browser.type("#search", "main")
    plain = page.screenshot("flamegraph-found")
    page.press("Enter")
    check(page.at()[1] == "main", "Enter goes to a match: %r" % page.at())
    page.press("n", "Escape")
    check(page.screenshot("flamegraph") != plain, "matches do not stand out")


@exports
def test_flamegraph_keys():
    page = Page(STORES.get("small"))
    page.browser.run("document.getElementById('scroll').focus()")
    page.press("Down", "Down", "Down")
    check(page.at()[1] == "main", "down: %r" % page.at())
    page.press("Down", "Right", "Left", "Enter")
    check(page.at() == ["app::work()", "app::work()"], "Enter: %r" % page.at())
    page.press("Escape")
    check(page.at()[0] == "main", "Escape: %r" % page.at())
    y = page.browser.run("return window.flamegraph.middle(0)[1]")
    page.press("i")
    check(page.browser.run("return window.flamegraph.middle(0)[1]") > y, "i does not turn it over")
    page.press("Up")
    check(page.at()[1] != "main", "up goes to a callee then")
    page.press("?")
    check(not page.browser.run("return document.getElementById('help').hidden"), "? shows no help")
    page.press("?")
    page = Page(STORES.get("small"), "--flame")
    check(page.browser.run("return window.flamegraph.middle(0)[1]") > y, "--flame")


@exports
def test_flamegraph_reconstructed():
    page = Page(STORES.get("inferred"))
    main, work = page.find("main")[0], page.find("work")[0]
    check(page.browser.run("return window.flamegraph.inferred(arguments[0])", main) == 15, "main")
    check("37.5% reconstructed" in page.text(".quality"), page.text(".quality"))
    page.screenshot("flamegraph-reconstructed")
    check(page.colors(main, 0.9)[0] > 2 * page.colors(main, 0.4)[0], "what is inferred is plain")
    check(page.colors(work, 0.9)[0] <= page.colors(work, 0.4)[0] + 1, "what was observed is not")


@exports
def test_flamegraph_diff():
    page = Page(STORES.get("after"), "--diff", STORES.get("small"))
    fact, work, main = page.find("fact")[0], page.find("app::work()")[0], page.find("main")[0]
    text = "return window.flamegraph.samples(arguments[0], arguments[1])"
    check([page.browser.run(text, fact, side) for side in (0, 1)] == [10, 55], "fact")
    check([page.browser.run(text, work, side) for side in (0, 1)] == [60, 15], "work")
    check(page.browser.run("return document.querySelectorAll('.quality').length") == 2, "quality")
    page.screenshot("flamegraph-diff")
    red, _, blue = page.colors(fact, 0.8)[1]
    check(red > blue + 30, "what grew is not red")
    red, _, blue = page.colors(work, 0.8)[1]
    check(blue > red + 30, "what shrank is not blue")
    red, _, blue = page.colors(main, 0.9)[1]
    check(abs(red - blue) < 30, "what stayed has a colour")
    page.point(fact)
    check("before 10 samples, after 55 samples: +45 samples ±" in page.text("#detail"), page.text("#detail"))
    page.point(main)
    check("within the sampling's error" in page.text("#detail"), page.text("#detail"))
    widths = "return window.flamegraph.samples(arguments[0])"
    # Of both: what is only before, or only after, has its width, and callers have those of all callees.
    check([page.browser.run(widths, of) for of in (fact, work)] == [55, 60], "widths of both")
    check(page.browser.run(widths, main) == 124, "the widths of a caller")
    page.press("b")
    check(page.browser.run(widths, fact) == 10, "key b")
    page.press("b")
    check(page.browser.run(widths, fact) == 55, "key b, again")


@exports
def test_flamegraph_names():
    for kind, some in (("names", "</script><script>alert(1)</script>"), ("hostile", "evil")):
        page = Page(STORES.get(kind))
        names = page.browser.run("const f = window.flamegraph, n = [];"
                                 "for (let i = 1; i < f.count; i++) n.push(f.name(i)); return n")
        check(any(some in name for name in names), "%s: %r" % (kind, names))
        check(not any(ord(letter) < 32 for name in names for letter in name), "control characters")
        page.press("/")
        page.browser.type("#search", "<script>" if kind == "names" else "evil")
        check("of" in page.text("#found"), page.text("#found"))
        page.check_quiet()


@exports
def test_flamegraph_deep():
    page = Page(STORES.get("deep"), "--everything")
    leaf = page.browser.run("return window.flamegraph.count - 1")
    check(leaf >= 10000, "%d frames" % leaf)
    page.press("i", "0", "i")
    page.browser.run("const s = document.getElementById('scroll'); s.scrollTop = s.scrollHeight")
    page.drawn()
    page.point(leaf, click=True)
    check(page.browser.run("return window.flamegraph.view.zoom") == leaf, "a click so far down")
    page.screenshot("flamegraph-deep")
