# SPDX-License-Identifier: MIT
"""stackctl annotate, and callgrind's instructions, on a program that was just built and recorded."""

import collections
import json
import os
import re

from harness import NATIVE, STACKCTL, STACKD, check, live, run, scratch
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


def callgrind_costs(text):
    """{(object, function, what it calls, or None): Counter of costs by address} of a callgrind file with
    instructions, and the starts of functions as calls name them, {name: address}."""
    names, now, callee, starts = {}, {}, None, {}
    costs = collections.defaultdict(collections.Counter)
    check("\npositions: instr line\n" in text, "no instructions", text[:1000])
    for line in text.split("\n\n", 1)[1].split("\n"):
        named = re.match(r"(c?)(ob|f[inl])=\((\d+)\)(?: (.*))?$", line)
        called = re.match(r"calls=\d+ 0x([0-9a-f]+) \d+$", line)
        cost = re.match(r"0x([0-9a-f]+) \d+ (\d+)$", line)
        if named:
            kind = named[2].replace("fi", "fl")
            names[kind, named[3]] = named[4] or names[kind, named[3]]
            now[named[1] + kind] = names[kind, named[3]]
        elif called:
            callee = now["cfn"]
            starts[callee] = int(called[1], 16)
        elif cost:
            costs[now["ob"], now["fn"], callee][int(cost[1], 16)] += int(cost[2])
            callee = None
        else:
            check(not line or line.startswith("totals: "), "callgrind", line)
    return costs, starts


def disassembled(program):
    """{address: (function, text)} of objdump."""
    done, function, rows = run("objdump", "-d", "--no-show-raw-insn", program), None, {}
    check(done.status == 0, "objdump", done.err)
    for line in done.out.split("\n"):
        head = re.match(r"([0-9a-f]+) <(.*)>:$", line)
        row = re.match(r"\s*([0-9a-f]+):\t(.*)$", line)
        function = head[2] if head else function
        if row:
            rows[int(row[1], 16)] = function, row[2]
    return rows


def check_callgrind(store, pid, program, wanted):
    """Costs are at the instructions of objdump, as many as annotate has in work(): `wanted`, in order."""
    done = run(STACKCTL, "export", "--callgrind", "-i", store, "--pid", pid)
    costs, starts = callgrind_costs(done.out)
    rows = disassembled(program)
    for (owner, function, callee), counts in costs.items():
        if owner != program or function not in ("main", "work", "step"):
            continue
        check(counts.keys() <= rows.keys(), "no instruction starts there", function, callee, counts)
        here = "main" if function == "main" else "work"  # step() is inlined into it
        check({rows[at][0] for at in counts} == {here}, "another function", function, counts)
        if callee == "work":
            check(all("call" in rows[at][1] for at in counts), "no call", function, callee, counts)
    check(rows[starts["work"]][0] == "work" and starts["work"] - 1 not in
          {at for at in rows if rows[at][0] == "work"}, "where work() starts", starts)
    check(sum(costs[program, "main", "work"].values()) > 100, "calls of work()", costs)
    check(starts.get("step", 0) == 0, "a start of a function that is inlined", starts)
    work = [costs[program, "work", None][at] for at in sorted(rows) if rows[at][0] == "work"]
    check(work[:len(wanted)] == wanted, "own costs by instruction", work, wanted)


@live
def test_annotate():
    """Lines and instructions add up to the function, and what is not here is said."""
    def annotate(*words):
        return run(STACKCTL, "annotate", "work", *words, "-i", folder + "/s.db", "--pid", pid)

    with scratch() as folder:
        source, program = folder + "/prog.c", folder + "/prog"
        with open(source, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        # At a fixed address, which is no offset in the file.
        check(run("gcc", "-O2", "-g", "-no-pie", "-o", program, source).status == 0, "gcc")
        check(run(STACKD, *NATIVE, "-q", "-F", "997", "-o", folder + "/s.db", "--", program).status == 0,
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
        check_callgrind(folder + "/s.db", pid, program,
                        [row["self"] for row in function["instructions"]])
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
        costs, starts = callgrind_costs(
            run(STACKCTL, "export", "--callgrind", "-i", folder + "/s.db").out)
        check(starts["work"] == 0, "another build's address", starts)
        check({at for (owner, *_), counts in costs.items() if owner == program for at in counts}
              == {0}, "another build's addresses", costs)
