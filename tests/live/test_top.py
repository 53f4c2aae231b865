# SPDX-License-Identifier: MIT
"""stackctl top on a store that stackd is writing."""

import importlib.util
import json
import os
import re

from harness import SIGINT, STACKCTL, Daemon, Skip, check, live, run, scratch, workload

HERE = os.path.dirname(os.path.abspath(__file__))


def load_screen():
    """The terminal of the tests of the command line."""
    if not importlib.util.find_spec("pyte"):
        raise Skip("python3-pyte is not installed")
    path = os.path.join(HERE, "..", "cli", "screen.py")
    spec = importlib.util.spec_from_file_location("screen", path)
    screen = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(screen)
    return screen.Screen


@live
def test_top():
    """Numbers grow while it is recorded, stand still in a pause, and the end is seen."""
    def samples(lines):
        found = re.match(r"(\d+) samples?", lines[1])
        return int(found[1]) if found else 0

    make_screen = load_screen()
    with scratch() as folder, workload("chain") as process:
        with Daemon(folder + "/s.db", "-F", 997, "--pid", process.pid) as daemon:
            daemon.wait_recording()
            screen = make_screen([STACKCTL, "top", "--window", "0", "--interval", "0.2", "-i",
                                  folder + "/s.db"])
            screen.wait(lambda lines: samples(lines) > 0, "samples")
            check("(running)" in screen.lines()[0], "not running", screen.lines()[0])
            # A report, too, says that it is not the end.
            report = run(STACKCTL, "report", "-i", folder + "/s.db")
            check(report.status == 0 and "so far (it is still being" in report.out, "report", report)
            listed = json.loads(run(STACKCTL, "list", "--json", "-i", folder + "/s.db").out)
            check(listed["recordings"][0]["state"] == "running", "list", listed)
            first = samples(screen.lines())
            screen.wait(lambda lines: samples(lines) > first, "more samples")
            screen.send(" ")
            screen.wait_for("PAUSED")
            paused = samples(screen.lines())
            check(daemon.finish(SIGINT).status == 0, "stackd failed")
            screen.send("2")
            screen.wait_for("[2 paths]")
            screen.wait_for("main")
            check(samples(screen.lines()) == paused, "it looked again in a pause")
            screen.send(" ")
            screen.wait_for("(ended)")
            check(samples(screen.lines()) >= paused, "samples are gone")
            screen.send("q")
            check(screen.finish() == 0, "top failed")
