# SPDX-License-Identifier: MIT
"""stackctl annotate on a program that was just built and recorded."""

import json
import os
import re

from harness import STACKCTL, STACKD, check, live, run, scratch
from test_top import load_screen

PROGRAM = """
static int step(int x)
{
	return x * 1103515245 + 12345;
}

__attribute__((noipa)) static int work(volatile int *sum, int n)
{
	for (int i = 0; i < n; i++)
		*sum += step(*sum) / (i + 3); /* hot */
	return *sum;
}

int main(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 300; i++)
		work(&sum, 1000000);
	return sum == 42;
}
"""


@live
def test_annotate():
    """Lines and instructions add up to the function, and what is not here is said."""
    def annotate(*words):
        return run(STACKCTL, "annotate", "work", *words, "-i", folder + "/s.db", "--pid", pid)

    with scratch() as folder:
        source, program = folder + "/prog.c", folder + "/prog"
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        check(run("gcc", "-O2", "-g", "-o", program, source).status == 0, "gcc")
        check(run(STACKD, "-q", "-F", "997", "-o", folder + "/s.db", "--", program).status == 0,
              "stackd")
        report = run(STACKCTL, "report", "--json", "-i", folder + "/s.db")
        pid = str(json.loads(report.out)["processes"][0]["pid"])
        done = annotate("--json")
        check(done.status == 0, "annotate --json", done.err)
        function = json.loads(done.out)["functions"][0]
        check(function["self"] > 100 and not function["problem"], "no samples", function)
        for rows in ("lines", "instructions"):
            total = sum(row["self"] for row in function[rows])
            check(total == function["self"], rows, total, function)
        # Samples in step(), which is inlined, are at work()'s instructions, but not its self.
        hits = sum(row["hit"] for row in function["instructions"])
        alone = json.loads(annotate("--json", "--no-inline").out)["functions"][0]
        check(hits == alone["self"], "hits", hits, alone["self"], function)
        check(all(row["inlined"] == "step" or row["hit"] == row["self"]
                  for row in function["instructions"]), "inlined", function)
        lines = {row["line"] for row in function["lines"]}
        check(10 in lines and lines <= set(range(7, 13)), "lines", lines)
        check(any(row["text"].startswith("idiv") and row["line"] == 10
                  for row in function["instructions"]), "no division", function)
        text = annotate().out
        check(re.search(r"\d+\.\d%\s+\d+\.\d%\s+10 .*hot.*│", text), "text", text)
        check("(inlined step)" in text, "what is inlined is not marked", text)
        for columns in (20, 50, 80, 200):
            screen = load_screen()([STACKCTL, "annotate", "--stdio", "work", "-i",
                                    folder + "/s.db", "--pid", pid], columns, 24)
            check(screen.finish() == 0, "on a terminal")
            rows = screen.raw.decode().split("\r\n")
            check(any("idiv" in row for row in rows), "columns", columns, rows)
            check(all(len(row) <= columns or row.startswith("# ") for row in rows), "cut", rows)
        check("idivl" in text or "idiv %" in text, "AT&T", text)
        check(re.search(r"idiv e", annotate("--intel").out), "Intel's")
        os.mkdir(folder + "/moved")
        os.rename(source, folder + "/moved/prog.c")
        check("not found here: --source DIR" in annotate().out, "a source that is gone")
        check("/* hot */" in annotate("--source", folder + "/moved").out, "--source")
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM.replace("12345", "54321"))
        check(run("gcc", "-O2", "-g", "-o", program, source).status == 0, "gcc")
        check("is not the file that was recorded" in annotate().out, "another build")
