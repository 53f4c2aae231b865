#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How quickly the page of `stackctl web` answers, for a recording of a million samples of a hundred threads:
web.py [--times N] [--check].

A store is made (tests/cli/make_store.c), `stackctl web` serves it, and Chromium shows the page. Printed, as median
and maximum of N: the time from opening the page to the first flame graph; from the change of the selection until
the flame graph of it is drawn; and what the page computes and draws when the pointer moves. Beside, since these
times say little on a busy machine: the CPU time that the server and the browser took for each, and the bytes of the
largest answer. With --check the status
is 1 if a median is above the limit. STACKD_BUILD names the folder of stackd's programs (default: build)."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("STACKD_BUILD", os.path.join(ROOT, "build"))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(ROOT, "tests", "exports"))

import browser  # noqa: E402

LIMITS = {"first paint": 500, "selection": 400, "hover": 17}  # milliseconds

SELECT = """
const [from, to] = arguments, app = window.stackd.app, begin = performance.now();
window.took = null;
const tab = app.tabs.flame.tab, before = tab.data;
app.store.set({from, to});
const look = () => { if (tab.data !== before) { tab.flame.draw(); window.took = performance.now() - begin; } else setTimeout(look, 1); };
look();
"""

HOVER = """
const flame = window.stackd.app.tabs.flame.tab.flame, box = flame.overlay.getBoundingClientRect(), took = [];
for (let i = 0; i < 60; i++) {
	const clientX = box.left + box.width * ((i * 37) % 60 + 0.5) / 60, clientY = box.top + 19 * (i % 4) + 8, begin = performance.now();
	flame.overlay.dispatchEvent(new PointerEvent("pointermove", {clientX, clientY, bubbles: true}));
	flame.mark();
	took.push(performance.now() - begin);
}
return took;
"""


LARGEST = """
const asked = performance.getEntriesByType("resource").filter(entry => entry.name.includes("/api/"));
const most = asked.reduce((a, b) => b.decodedBodySize > a.decodedBodySize ? b : a);
return [most.decodedBodySize, most.name.split("/api/")[1]];
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    took = {name: [] for name in LIMITS}
    cpu = {}
    with tempfile.TemporaryDirectory(prefix="stackd-web-") as folder:
        store = os.path.join(folder, "crowd.db")
        subprocess.run([os.path.join(BUILD, "tests", "make_store"), store, "crowd"], check=True)
        server = subprocess.Popen([os.path.join(BUILD, "stackctl"), "web", "-i", store, "--no-open", "--port", "0"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            link = server.stdout.readline().strip()
            with browser.Browser(1440, 900) as page:
                measure(page, link, options.times, took, Cpu(server.pid, page.driver.pid, cpu))
                largest = page.run(LARGEST)
        finally:
            server.terminate()
            server.wait()
    failed = 0
    for name, times in took.items():
        middle = statistics.median(times)
        failed += middle > LIMITS[name]
        print("%-12s median %7.1f ms, maximum %7.1f ms (limit %d ms); CPU time of each: server %.0f ms, browser %.0f ms" %
              (name, middle, max(times), LIMITS[name], *(1000 * seconds / len(times) for seconds in cpu[name])))
    print("largest answer %d bytes: %s" % tuple(largest))
    return 1 if options.check and failed else 0


class Cpu:
    """CPU time of the server, and of the browser with its processes."""

    def __init__(self, server, driver, spent):
        self.server, self.driver, self.spent = server, driver, spent

    def now(self):
        tick, parents, seconds = os.sysconf("SC_CLK_TCK"), {}, {}
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/stat" % int(name), encoding="latin-1") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except (ValueError, OSError):
                continue
            parents[int(name)] = int(fields[1])
            seconds[int(name)] = sum(map(int, fields[11:15])) / tick  # with those of children that have ended
        family = {self.driver}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return seconds.get(self.server, 0), sum(seconds.get(pid, 0) for pid in family)

    def add(self, name, before):
        """Adds what has been spent since `before`, which now() gave."""
        spent = self.spent.setdefault(name, [0, 0])
        for i, (since, upto) in enumerate(zip(before, self.now())):
            spent[i] += upto - since


def measure(page, link, times, took, cpu):
    ready = "return document.documentElement.dataset.ready"
    page.open(link)
    page.until(ready)  # the server has read the store by then
    before = cpu.now()
    for i in range(times):
        page.open("about:blank")
        page.open(link)
        took["first paint"].append(float(page.until(ready)))
        page.until("return window.stackd.app.lanes.data !== null")
    cpu.add("first paint", before)
    before = cpu.now()
    for i in range(times):
        page.run(SELECT, int((1 + i * 0.7) * 1e9), int((1.5 + i * 0.9) * 1e9))
        took["selection"].append(page.until("return window.took"))
    cpu.add("selection", before)
    before = cpu.now()
    took["hover"] += page.run(HOVER)
    cpu.add("hover", before)


if __name__ == "__main__":
    sys.exit(main())
