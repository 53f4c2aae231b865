#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How quickly the page of `stackctl web` answers, for a recording of a million samples of a hundred threads:
web.py [--times N] [--check].

A store is made (tests/cli/make_store.c), `stackctl web` serves it, and Chromium shows the page. Printed, as median
and maximum of N: the time from opening the page to the first flame graph; from the change of the selection until
the flame graph of it is drawn; and what the page computes and draws when the pointer moves. With --check the status
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    took = {name: [] for name in LIMITS}
    with tempfile.TemporaryDirectory(prefix="stackd-web-") as folder:
        store = os.path.join(folder, "crowd.db")
        subprocess.run([os.path.join(BUILD, "tests", "make_store"), store, "crowd"], check=True)
        server = subprocess.Popen([os.path.join(BUILD, "stackctl"), "web", "-i", store, "--no-open", "--port", "0"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            link = server.stdout.readline().strip()
            with browser.Browser(1440, 900) as page:
                measure(page, link, options.times, took)
        finally:
            server.terminate()
            server.wait()
    failed = 0
    for name, times in took.items():
        middle = statistics.median(times)
        failed += middle > LIMITS[name]
        print("%-12s median %7.1f ms, maximum %7.1f ms (limit %d ms)" % (name, middle, max(times), LIMITS[name]))
    return 1 if options.check and failed else 0


def measure(page, link, times, took):
    ready = "return document.documentElement.dataset.ready"
    page.open(link)
    page.until(ready)  # the server has read the store by then
    for i in range(times):
        page.open("about:blank")
        page.open(link)
        took["first paint"].append(float(page.until(ready)))
        page.until("return window.stackd.app.lanes.data !== null")
    for i in range(times):
        page.run(SELECT, int((1 + i * 0.7) * 1e9), int((1.5 + i * 0.9) * 1e9))
        took["selection"].append(page.until("return window.took"))
    took["hover"] += page.run(HOVER)


if __name__ == "__main__":
    sys.exit(main())
