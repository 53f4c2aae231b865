# SPDX-License-Identifier: MIT
"""The page of `stackctl web` in a browser, as people use it: what it shows, the selection by mouse and keys, links
and Back, hostile names, a saved file, and what axe-core says of it. Stores are made, so every number is known."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import saved_page
from common import PATIENCE, STACKCTL, STACKD, STORES, Skip, check, exports, need, npm, report, run, shared_browser, why_no_bpf

STATE = "return window.stackd.app.store.state"
TABS = ["flame", "functions", "around", "waits", "heap", "regions", "source", "difference", "fold", "log"]


class Server:
    """stackctl web, with its link."""

    def __init__(self, store, *options):
        shared_browser()  # skips before anything is started
        if "\n  web " not in run(STACKCTL, "help"):
            raise Skip("built without libmicrohttpd")
        self.process = subprocess.Popen([STACKCTL, "web", "-i", store, *options, "--no-open", "--port", "0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.link = self.process.stdout.readline().strip()

    def __enter__(self):
        check(self.link.startswith("http://127.0.0.1:"), "no link", self.link)
        return self

    def __exit__(self, *_):
        try:
            shared_browser().open("about:blank")  # a page whose server is gone complains
        finally:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process.stdout.close()


class Page:
    def __init__(self, url, fragment=""):
        self.browser = shared_browser()
        self.url = url
        self.open(fragment)

    def open(self, fragment=""):
        self.browser.requests()  # of pages before
        self.browser.open("about:blank")
        self.browser.open(self.url + fragment)
        self.browser.until("return 'ready' in document.documentElement.dataset")
        self.settle()

    def settle(self):
        """Until nothing is asked for any more, and the lanes are there."""
        self.browser.until("return !document.getElementById('panel').hasAttribute('aria-busy') && (window.stackd.app.lanes.data !== null || window.stackd.app.lanes.missing !== '')")
        self.browser.run("window.seen = 0; requestAnimationFrame(() => requestAnimationFrame(() => { window.seen = 1; }))")
        self.browser.until("return window.seen")

    def check_quiet(self):
        """Nothing went wrong, nothing but the page's own was fetched, and no name became a script."""
        complaints = self.browser.complaints()
        check(not complaints, "complaints", complaints)
        fine = (self.url.split("#")[0], "data:", "blob:", "about:", "chrome:", "chrome-untrusted:")
        asked = [url for url in self.browser.requests() if not url.startswith(fine)]
        check(not asked, "the page asked for %s" % asked)
        check(self.browser.run("return window.hacked === undefined && document.scripts.length") == 2, "scripts")

    def state(self):
        return self.browser.run(STATE)

    def text(self, css):
        return self.browser.run("return document.querySelector(arguments[0])?.textContent ?? ''", css)

    def click(self, css):
        self.browser.run("document.querySelector(arguments[0]).click()", css)
        self.settle()

    def until_text(self, css, part):
        self.browser.until("return (document.querySelector(%s)?.textContent ?? '').includes(%s)" % (json.dumps(css), json.dumps(part)))

    def press(self, *keys):
        self.browser.press(*keys)
        self.settle()

    def rows(self, css="#panel .table"):
        """The texts of the rows that are shown of a table."""
        return self.browser.run("return [...document.querySelectorAll(arguments[0] + ' .rows .row')].map(row => "
                                "[...row.children].map(cell => cell.textContent.trim()))", css)

    def drag(self, begin, end):
        """Over the lanes, from one share of their width to another."""
        x, y, w = self.browser.run("const b = document.getElementById('lanes-canvas').getBoundingClientRect(); return [b.left, b.top + 60, b.width]")
        actions = [{"type": "pointerMove", "x": round(x + begin * w), "y": round(y), "origin": "viewport"}, {"type": "pointerDown", "button": 0},
                   {"type": "pointerMove", "x": round(x + end * w), "y": round(y), "origin": "viewport"}, {"type": "pointerUp", "button": 0}]
        self.browser.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "m", "actions": actions}]})
        self.settle()

    def screenshot(self, name):
        image = self.browser.screenshot()
        check(image.startswith(b"\x89PNG") and len(image) > 5000, "the screenshot is empty")
        folder = os.environ.get("STACKD_EXPORT_LOGS")
        if folder:
            with open(os.path.join(folder, name + ".png"), "wb") as file:
                file.write(image)


def find_node(page, name):
    """A node of the flame graph, and the middle of its frame."""
    node = page.browser.run("const t = window.stackd.app.tabs.flame.tab.tree; for (let i = 1; i < t.size; i++) if (t.name(i) === arguments[0]) return i; return -1", name)
    check(node > 0, "no frame of " + name)
    return node, page.browser.run("return window.stackd.app.tabs.flame.tab.flame.middle(arguments[0])", node)


@exports
def test_web_page():
    """What the page shows of a recording is what the report says; a click selects a function, and the panel tells of it."""
    store = STORES.get("small")
    with Server(store) as server:
        page = Page(server.link)
        check("100 samples" in page.text("#quality") and "3 lost" in page.text("#quality"), "quality", page.text("#quality"))
        wanted = {"\1".join(path): total for path, total in tree_of(report(store, "--view", "tree", "--by", "all")["parts"][0], store).items()}
        got = page.browser.run("const t = window.stackd.app.tabs.flame.tab.tree, rows = {}; for (let i = 1; i < t.size; i++)"
                               "rows[t.line(i).slice(1).map(n => t.name(n)).join('\\u0001')] = t.total[0][i]; return rows")
        check(got == wanted, "the flame graph", got, wanted)
        node, middle = find_node(page, "fact")
        page.browser.point(*middle)
        page.until_text("#tip", "10.0 % of all")
        page.browser.point(*middle, True)
        page.settle()
        check(page.state()["focus"] == "fact" and page.state()["zoom"], "a click", page.state())
        page.until_text("#detail", "fact")
        page.screenshot("web-flame")
        page.click("#tab-functions")
        rows = page.rows()
        flat = {f["symbol"]: f for f in report(store, "--view", "flat", "--by", "all")["parts"][0]["functions"]}
        check(sum(int(row[0]) for row in rows) == 100 and len(rows) == len(flat), "functions", rows)
        box = page.browser.run("const s = document.querySelector('#panel .table-scroll'); return [s.clientHeight, s.parentElement.clientHeight]")
        check(0 < box[0] < box[1], "the table's rows have a window to scroll in", box)
        page.browser.type("#panel input[type=search]", "fac")
        page.until_text("#panel .tools", "1 function")
        check([row[4] for row in page.rows()] == ["fact"], "the filter", page.rows())
        page.check_quiet()


def tree_of(part, store):
    """{path: total} of a report's tree."""
    symbols = report(store, "--view", "tree", "--by", "all")["symbols"]
    paths, totals = [], {}
    for node in part["nodes"]:
        paths.append((paths[node["parent"]] if node["parent"] >= 0 else ()) + (symbols[node["symbol"]]["name"],))
        totals[paths[-1]] = node["total"]
    return totals


@exports
def test_web_labels():
    """The page divides by any label that threads of the recording have."""
    with Server(STORES.get("labels")) as server:
        def asked(question):
            with urllib.request.urlopen(server.link.split("#")[0] + "api/" + question) as answer:
                return json.load(answer)
        answer = asked("tree?minimum=0&by=label:env")
        labels = answer["labels"]
        check({"env", "k8s.pod.name", "service.name"} <= set(labels) and len(set(labels)) == len(labels), "labels %r" % labels)
        first = {path[0]: count for path, (count,) in saved_page.paths(answer, "total").items() if len(path) == 1}
        check(first == {"env prod": 22, "env [no env]": 18}, "by label %r" % first)
        page = Page(server.link, "#by=label%3Aenv")
        check("label:env" in page.browser.run("return [...document.querySelectorAll('#panel select option')].map(option => option.value)"), "the page does not offer it")
        page.check_quiet()


@exports
def test_web_selection():
    """Dragging selects a range, which all tabs show; a link has it, and Back leads to the state before."""
    store = STORES.get("ranges")
    with Server(store) as server:
        page = Page(server.link)
        total = "return window.stackd.app.tabs.flame.tab.tree.total[0][0]"
        whole = page.browser.run(total)
        page.drag(0.1, 0.3)
        state = page.state()
        check(0.28e9 < state["from"] < 0.32e9 and 0.88e9 < state["to"] < 0.92e9, "the range", state)
        wanted = report(store, "--from", "%.9f" % (state["from"] / 1e9), "--to", "%.9f" % (state["to"] / 1e9))["periods"]
        part = page.browser.run(total)
        check(0 < part < whole and part == wanted, "the selection's samples", part, wanted, whole)
        page.click("#tab-functions")
        check(sum(int(row[0].replace(",", "")) for row in page.rows()) == wanted, "functions of the selection", page.rows())
        page.click("[data-lane]")
        check(len(page.state()["threads"]) == 1, "a lane", page.state())
        link = page.browser.run("return location.hash")
        page.open(link)
        check(page.browser.run("return location.hash") == link and page.state()["threads"], "a link")
        page.click("#tab-flame")
        page.browser.run("history.back()")
        page.browser.until("return window.stackd.app.store.state.tab === 'functions'")
        page.browser.run("document.getElementById('lanes-canvas').focus()")
        page.press("Escape")
        check(page.state()["from"] is None and page.state()["threads"], "Escape: all time", page.state())
        page.press("Escape")
        check(not page.state()["threads"], "Escape again: all threads", page.state())
        page.browser.run("history.back()")
        page.browser.until("return window.stackd.app.store.state.threads.length === 1")
        page.screenshot("web-selection")
        check(page.state()["recording"], "threads are of one recording", page.state())
        page.click("#tab-flame")
        page.browser.run("const { app } = window.stackd, { api } = app, fetch = api.fetch; api.fetch = question => question.includes('direction=callers') ?"
                         "new Promise(then => { window.late = () => then(fetch.call(api, question)); }) : fetch.call(api, question);"
                         "app.store.set({ direction: 'callers' }); app.store.set({ direction: 'down' }); window.late()")
        page.settle()
        check(page.browser.run("return window.stackd.app.tabs.flame.tab.data.direction") == "down", "an answer that comes late is not drawn")
        page.check_quiet()


def place_in_lanes(page, name, at_ns):
    """Where a lane shows a moment."""
    return page.browser.run("const { lanes } = window.stackd.app, box = lanes.canvas.getBoundingClientRect();"
                            "const row = lanes.lanes.findIndex(lane => lane.answer.name === arguments[0]);"
                            "return [box.left + lanes.axis.pixel(arguments[1]), box.top + 24 + 40 * lanes.lines.length + 24 * row + 12 - lanes.element.scrollTop]",
                            name, at_ns)


@exports
def test_web_lanes():
    """Lanes tell what threads did, and by which reason they were blocked; a pool unfolds; the wheel zooms."""
    names = "return window.stackd.app.lanes.lanes.map(lane => lane.answer.name)"
    with Server(STORES.get("ranges")) as server:
        page = Page(server.link)
        check(page.browser.run(names) == ["prog", "worker", "prog"], "lanes", page.browser.run(names))
        check(all(part in page.text("#lane-legend") for part in ("on the CPU", "waiting for a CPU", "blocked: futex")), "the legend", page.text("#lane-legend"))
        for at, said in ((1.5e9, "mostly blocked: futex"), (2.106e9, "mostly waiting for a CPU")):
            page.browser.point(*place_in_lanes(page, "worker", at))
            page.until_text("#tip", said)
        page.click(".lane-name .fold[aria-expanded=false]")
        page.browser.until("return window.stackd.app.lanes.lanes.length === 9")
        check(page.browser.run(names).count("worker") == 7 and page.state()["unfold"] == ["g0:worker"], "the pool's threads", page.browser.run(names))
        page.click("[data-lane=t3]")
        check(page.state()["threads"] == ["t3"] and "--tid " in page.text("#detail .command"), "one of them", page.text("#detail .command"))
        page.click(".lane-name .fold[aria-expanded=true]")
        page.browser.until("return window.stackd.app.lanes.lanes.length === 3")
        page.browser.wheel(*place_in_lanes(page, "worker", 1e9), -120)
        page.browser.until("return window.stackd.app.store.state.viewTo !== null")
        page.settle()
        state = page.state()
        check(state["viewTo"] - state["viewFrom"] < 2.9e9 and state["viewFrom"] < 1e9 < state["viewTo"], "the wheel", state)
        page.click(".lane-axis button")
        check(page.state()["lanes"] == "name", "sorted by name", page.state())
        page.check_quiet()
    with Server(STORES.get("traced")) as server:
        page = Page(server.link)
        inside = page.browser.run("const { data, lanes } = window.stackd.app.lanes, lane = lanes.find(lane => lane.regions.length), [region, begin, end] = lane.regions[0];"
                                  "return [lane.answer.name, data.from + (begin + end) / 2 * (data.to - data.from) / data.columns, data.regions[region]]")
        page.browser.point(*place_in_lanes(page, *inside[:2]))
        page.until_text("#tip", "in " + inside[2][:5])
        page.check_quiet()


@exports
def test_web_keys():
    """Each thing that the mouse does has a key."""
    with Server(STORES.get("small")) as server:
        page = Page(server.link)
        page.browser.run("document.getElementById('scroll').focus()")
        page.press("Down", "Down")
        check(page.state()["focus"], "arrow keys", page.state())
        page.press("Enter")
        check(page.state()["zoom"], "Enter zooms", page.state())
        page.press("Escape")
        page.browser.run("document.getElementById('lanes-canvas').focus()")
        page.press("+")
        check(page.state()["viewTo"] is not None, "+ zooms the lanes", page.state())
        page.press("2")
        check(page.state()["tab"] == "functions", "a tab's number", page.state())
        page.press("/")
        check(page.browser.run("return document.activeElement.id") == "search", "/ searches")
        page.browser.type("#search", "fact")
        page.press("Enter")
        page.press("1")
        page.until_text("#found", "found")
        page.press("?")
        check(page.browser.run("return document.getElementById('keys').open"), "? shows the keys")


@exports
def test_web_hostile():
    """Names of programs are text, wherever they are shown."""
    for kind, some in (("names", "alert(1)"), ("hostile", "evil")):
        with Server(STORES.get(kind)) as server:
            page = Page(server.link)
            names = page.browser.run("const t = window.stackd.app.tabs.flame.tab.tree, n = []; for (let i = 1; i < t.size; i++) n.push(t.name(i)); return n")
            check(any(some in name for name in names), "%s: %r" % (kind, names))
            focus = next(name for name in names if some in name)
            for tab in ("functions", "around", "difference"):
                page.open("#tab=%s&search=evil&focus=%s&before=1" % (tab, urllib.parse.quote(focus)))
                shown = page.browser.run("return document.body.textContent")
                check(not any(ord(letter) in range(0x202a, 0x202f) or ord(letter) in range(0x2066, 0x206a) for letter in shown), "direction of text")
            page.check_quiet()


@exports
def test_web_causes():
    """Who ended waits, which path holds the heap, what changed from one recording to another."""
    with Server(STORES.get("wakers")) as server:
        page = Page(server.link, "#tab=waits")
        reasons = page.rows("#panel section:nth-child(1) .table")
        check(["60.0 ms", "3", "futex"] in reasons, "reasons", reasons)
        names = page.browser.run("const t = window.stackd.app.tabs.waits.tab.flame.tree, n = []; for (let i = 0; i < t.size; i++) n.push(t.line(i).map(k => t.name(k)).join(' > ')); return n")
        check("all waits > futex > other: main" in names, "who ended them", names)
    with Server(STORES.get("heap")) as server:
        page = Page(server.link, "#tab=heap")
        rows = page.rows()
        check([(row[0], row[-1]) for row in rows] == [("300 B", "app::work"), ("200 B", "main")], "paths", rows)
        page.browser.run("document.querySelector('#panel .rows .row').click()")
        page.until_text("#panel .path", "app::work")
        steps = page.browser.run("return [...document.querySelectorAll('#panel .steps li')].map(li => li.textContent)")
        check(steps == ["_start", "main", "app::work"], "its path", steps)
    both = STORES.path("both.db")
    STORES.get("small")
    run(STORES.path("make_store"), both, "small", "after")
    with Server(both) as server:
        page = Page(server.link, "#tab=difference&recording=2&before=1")
        rows = {row[5]: row for row in page.rows("#panel .table")}
        check(rows["fact"][:4:2] == ["+45", "10"] and rows["fact"][3:5] == ["55", ""], "what changed", rows)
        page.screenshot("web-changed")
        page.check_quiet()


BUSY = """
#include <time.h>
static inline int mix(int x) { for (int i = 0; i < 20; i++) x = x * 1103515245 + 12345; return x; }
__attribute__((noinline)) int hot(int n)
{
	int sum = 0;
	if (n < 0)
		__asm__ volatile(".rept 5000; nop; .endr");
	for (int i = 0; i < n; i++)
		sum += mix(i);
	return sum;
}
int main(void)
{
	int sum = 0;
	while (clock() < CLOCKS_PER_SEC / 2)
		sum += hot(1000);
	return sum == 42;
}
"""


@exports
def test_web_source():
    """Each source line and instruction has the samples that the terminal's command says, and what was inlined is told."""
    if why_no_bpf():
        raise Skip(why_no_bpf())
    need("cc", "objdump")
    source, program, store = (STORES.path("busy" + end) for end in (".c", "", ".db"))
    os.chmod(STORES.folder, 0o711)  # the server reads source and program without root's rights
    with open(source, "w", encoding="ascii") as file:
        file.write(BUSY)
    run("cc", "-O1", "-g", "-o", program, source)
    run(STACKD, "-q", "-F", "999", "-o", store, "--", program)
    said = json.loads(run(STACKCTL, "annotate", "--json", "-i", store, "hot"))["functions"][0]
    with Server(store) as server:
        page = Page(server.link, "#tab=source&focus=hot")
        lines = [row for row in page.rows("#panel section:nth-child(1) .table") if row[1]]
        wanted = {(line["line"], line["self"], line["total"]) for line in said["lines"]}
        check({(int(row[3]), int(row[0] or 0), int(row[1])) for row in lines} == wanted, "lines", lines, wanted)
        check(all(BUSY.split("\n")[int(row[3]) - 1].strip() == row[4] for row in lines), "their text", lines)
        code = page.browser.run("return window.stackd.app.tabs.source.tab.code.rows.map(row => [row.address, row.hit, row.inlined, row.text])")
        wanted = [["%x" % one["offset"], one["hit"], one["inlined"], one["text"]] for one in said["instructions"]]
        check([row for row in code if row[1]] == [row for row in wanted if row[1]], "instructions with samples", code[:20], wanted[:20])
        check(all(row in wanted for row in code if row[0] != "⋮") and len(code) < 2100 < 5000 < len(wanted), "some of the others", len(code), len(wanted))
        hottest = page.text("#panel section:nth-child(2) .at")
        check(hottest.startswith(str(max(one["hit"] for one in said["instructions"]))), "the instruction with most samples is chosen", hottest)
        check(any(one["inlined"] == "mix" and one["hit"] for one in said["instructions"]), "samples in what is inlined", wanted)
        page.screenshot("web-source")
        os.rename(source, source + ".away")
        page.open("#tab=source&focus=hot&recording=1")
        page.until_text("#panel .tools", "source file cannot be read")
        page.check_quiet()


RESTS = "import time\nwhile True:\n    sum(range(10000))\n    time.sleep(0.005)"


def began(store):
    """Whether a store has a recording."""
    return subprocess.run([STACKCTL, "stats", "-i", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


@exports
def test_web_live():
    """While stackd records, the last seconds are followed: the selection, the lanes and the tree move on, until it ends."""
    if why_no_bpf():
        raise Skip(why_no_bpf())
    store = STORES.path("live.db")
    with subprocess.Popen([STACKD, "-q", "-F", "499", "-o", store, "--", sys.executable, "-c", RESTS]) as daemon:
        try:
            while not began(store):
                check(daemon.poll() is None, "stackd has ended")
                time.sleep(0.1)
            with Server(store) as server:
                page = Page(server.link)
                page.browser.until("return !document.getElementById('live').hidden")
                page.browser.run("document.getElementById('live').click()")
                end = 0
                for _ in range(3):
                    end = page.browser.until("const { to } = window.stackd.app.store.state; return to > %d && to" % end)
                    state = page.state()
                    check(state["live"] and state["from"] == max(0, state["to"] - 10e9), "the last ten seconds", state)
                    page.browser.until("const { app } = window.stackd; return app.lanes.data.end_ns >= %d && app.tabs.flame.tab.data.to >= %d" % (end, end))
                check(page.browser.run("return window.stackd.app.tabs.flame.tab.tree.total[0][0]") > 0, "samples of the last seconds")
                daemon.send_signal(signal.SIGINT)
                daemon.wait(PATIENCE)
                page.browser.until("return document.getElementById('live').hidden && window.stackd.app.recording.live === false")
                page.check_quiet()
        finally:
            daemon.send_signal(signal.SIGINT)


@exports(long=True)
def test_web_crowd():
    """Of a million samples of a hundred threads, a hiccup of a tenth of a second is found by dragging."""
    with Server(STORES.get("crowd")) as server:
        page = Page(server.link, "#viewFrom=5500000000&viewTo=6500000000")
        page.drag(0.5, 0.6)
        state = page.state()
        check(5.95e9 < state["from"] < 6.05e9 < state["to"] < 6.15e9, "the range", state)
        page.click("#tab-functions")
        rows = page.rows()
        check("hiccup" in rows[0][4], "the function", rows[:3])
        page.screenshot("web-crowd")
        page.check_quiet()


@exports
def test_web_saved():
    """A saved file shows the same without the server, and asks for nothing."""
    with Server(STORES.get("small")) as server:
        page = Page(server.link, "#tab=functions&focus=fact")
        folder = STORES.path("saved")
        os.makedirs(folder, exist_ok=True)
        page.browser.download_to(folder)
        rows = page.rows()
        page.click("#save")
        end = time.monotonic() + PATIENCE
        while not [name for name in os.listdir(folder) if name.endswith(".html")] and time.monotonic() < end:
            time.sleep(0.05)
    path = os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".html")))
    check(os.path.getsize(path) <= 1 << 20, "%d bytes" % os.path.getsize(path))
    page.browser.complaints()  # what the recording does not have is asked for, and refused
    saved = Page("file://" + path)
    check(saved.state()["tab"] == "functions" and saved.rows() == rows, "the file's functions", saved.rows(), rows)
    saved.click("#tab-flame")
    check(saved.browser.run("return window.stackd.app.tabs.flame.tab.tree.total[0][0]") == 100, "the file's flame graph")
    saved.click("#tab-around")
    saved.until_text("#panel", "fact")
    saved.click("#tab-flame")
    saved.drag(0.1, 0.3)
    saved.until_text("#panel", "This is not in this file.")
    check("sample" not in saved.text("#total"), "the total of another selection", saved.text("#total"))
    saved.check_quiet()
    os.remove(path)


@exports(long=True)
def test_web_accessible():
    """axe-core finds nothing against WCAG 2.2 AA, in any tab, light and dark, wide and narrow; nothing is wider than the window."""
    with open(os.path.join(npm("axe-core"), "axe.min.js"), encoding="utf-8") as file:
        axe = file.read() + ";window.axe = axe"
    with Server(STORES.get("heap")) as server:
        page = Page(server.link)
        for i, tab in enumerate(TABS):
            theme, width = ("light", "dark")[i % 2], (1280, 320)[i // 2 % 2]
            page.browser.look_as(width, theme)
            page.open("#tab=%s" % tab)
            page.browser.run(axe)
            page.browser.run("window.found = null; axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']}).then("
                             "r => { window.found = r.violations.map(v => [v.id, v.nodes.map(n => n.html.slice(0, 200))]); }, e => { window.found = [String(e)]; })")
            page.browser.until("return window.found !== null")
            check(page.browser.run("return window.found") == [], "%s, %s, %d" % (tab, theme, width), page.browser.run("return window.found"))
            check(page.browser.run("return document.documentElement.scrollWidth <= innerWidth"), "%s is wider than %d" % (tab, width))
            page.screenshot("web-" + tab)
        page.browser.look_as()
