#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""perf_groups.py FILE [SAMPLES [HZ [SLOT_MS [SEED]]]]: writes a perf.data as `perf record -e
'{cycles,instructions}:S,{cycles,cache-misses}:S' -e probe_model:step` does on a processor that has room for
one of the two groups at a time: the kernel lets each count for SLOT_MS (4) by turns, and a sample has the
values of its group alone, with the times for which that was enabled and did run.

A thread makes passes of 20 ms, by 20 % more or less, one in 40 five times as long; in each, the counters
advance along TRUTH. SAMPLES (2,000) of each group, at HZ (1,000).

perf_groups.py check FILE.csv MEAN MAX BREAK RATE: compares a table of stackctl fold with TRUTH: errors of the
curves on average and at most, of the ends of phases, and of their rates, in percent."""

import csv
import random
import struct
import sys

TRUTH = {  # ends of phases, and the share of the pass's total that is reached there
    "instructions": ((0.25, 0.05), (0.70, 0.80), (1.0, 1.0)),
    "cache-misses": ((0.40, 0.60), (0.65, 0.65), (1.0, 1.0)),
    "cycles": ((1.0, 1.0),),
}
TOTAL = {"cycles": 40e6, "instructions": 50e6, "cache-misses": 200e3}
PASS_NS, LONG = 20e6, 40
PID, START = 4711, 10 ** 12

IP, TID, TIME, READ, ID = 1 << 0, 1 << 1, 1 << 2, 1 << 4, 1 << 16  # PERF_SAMPLE_; ID is _IDENTIFIER
GROUP_FORMAT = 1 | 2 | 4 | 8  # both times, ids, group
GROUPS = (("cycles", "instructions"), ("cycles", "cache-misses"))
CODES = {"cycles": 0, "instructions": 1, "cache-misses": 3}


def share(name, x):
    begin, reached = 0.0, 0.0
    for end, upto in TRUTH[name.split(" ")[0]]:
        if x <= end:
            return reached + (upto - reached) * (x - begin) / (end - begin)
        begin, reached = end, upto
    return 1.0


class Passes:
    """When passes begin, and what a counter would have reached since the start if it counted always."""

    def __init__(self, rng, until_ns):
        self.begins, now = [], 0.0
        while now < until_ns:
            self.begins.append(now)
            now += PASS_NS * rng.uniform(0.8, 1.2) * (5 if len(self.begins) % LONG == 0 else 1)
        self.begins.append(now)
        self.at = 0

    def reached(self, name, ns):
        while self.begins[self.at + 1] <= ns:
            self.at += 1
        while self.begins[self.at] > ns:
            self.at -= 1
        begin, end = self.begins[self.at], self.begins[self.at + 1]
        return TOTAL[name] * (self.at + share(name, (ns - begin) / (end - begin)))


def samples(rng, passes, slot_ns, hz, wanted):
    """(time, group, running time, values), as far as each group has run."""
    running, values = [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]
    now, slot_end, group, made = 0.0, slot_ns, 0, [0, 0]
    due = [rng.uniform(0, 1e9 / hz) for _ in GROUPS]  # how much longer each has to run until its next sample
    while min(made) < wanted:
        upto = min(slot_end, now + due[group])
        for i, name in enumerate(GROUPS[group]):
            values[group][i] += passes.reached(name, upto) - passes.reached(name, now)
        running[group] += upto - now
        due[group] -= upto - now
        now = upto
        if now >= slot_end:
            slot_end += slot_ns
            group = 1 - group
        else:
            yield now, group, running[group], list(values[group])
            made[group] += 1
            due[group] = 1e9 / hz * rng.uniform(0.9, 1.1)


def attribute(kind, config, sample_type, read_format):
    flags = 1 << 18 | 1 << 10  # sample_id_all, freq
    return struct.pack("<IIQQQQQ", kind, 136, config, 1000, sample_type, read_format, flags).ljust(136, b"\0")


def text(words):
    return struct.pack("<I", 64) + words.encode().ljust(64, b"\0")


def sample(event_id, time, counts=b""):
    body = struct.pack("<QQIIQ", event_id, 0x401000, PID, PID, time) + counts
    return struct.pack("<IHH", 9, 2, 8 + len(body)) + body


def write(path, wanted, hz, slot_ms, seed):
    rng = random.Random(seed)
    passes = Passes(rng, 2.6 * wanted / hz * 1e9 + 1e9)
    events, number, group_ids = [], 1, []
    for names in GROUPS:
        ids = []
        for name in names:
            events.append((attribute(0, CODES[name], ID | IP | TID | TIME | READ, GROUP_FORMAT), name, number))
            ids.append(number)
            number += 1
        group_ids.append(ids)
    probe = number
    events.append((attribute(2, 1500, ID | IP | TID | TIME, 0), "probe_model:step", probe))
    records, last = [], 0
    for time, group, running, values in samples(rng, passes, slot_ms * 1e6, hz, wanted):
        counts = struct.pack("<QQQ", len(values), int(time), int(running))
        for value, event_id in zip(values, group_ids[group]):
            counts += struct.pack("<QQ", int(value), event_id)
        records.append((time, sample(group_ids[group][0], START + int(time), counts)))
        last = time
    records += [(t, sample(probe, START + int(t))) for t in passes.begins if t <= last]
    data = b"".join(record for _, record in sorted(records))

    ids_at = 104
    attrs_at = ids_at + 8 * len(events)
    data_at = attrs_at + (136 + 16) * len(events)
    description = struct.pack("<II", len(events), 136)
    for attr, name, event_id in events:
        description += attr + struct.pack("<I", 1) + text(name) + struct.pack("<Q", event_id)
    features_at = data_at + len(data)
    header = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 136 + 16, attrs_at, (136 + 16) * len(events), data_at,
                         len(data), 0, 0) + struct.pack("<QQQQ", 1 << 12, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(header + b"".join(struct.pack("<Q", e[2]) for e in events))
        for i, (attr, _, _) in enumerate(events):
            file.write(attr + struct.pack("<QQ", ids_at + 8 * i, 8))
        file.write(data + struct.pack("<QQ", features_at + 16, len(description)) + description)


def check(path, limit_mean, limit_max, limit_break, limit_rate):
    curves, phases, first = {}, [], None
    with open(path, encoding="utf-8") as file:
        for row in csv.reader(file):
            if row[0] == "curve":
                curves.setdefault(row[1], []).append(100 * abs(float(row[3]) - share(row[1], float(row[2]))))
            elif row[0] == "phase":
                phases.append((float(row[2]), float(row[3]), float(row[4])))
                first = row[1]
    failed = set(curves) != set(TRUTH) | {"cycles (2)"}
    for name, errors in curves.items():
        mean, most = sum(errors) / len(errors), max(errors)
        print("%s: mean %.3f max %.3f" % (name, mean, most))
        failed |= mean > limit_mean or most > limit_max
    begin, reached = 0.0, 0.0
    for end, upto in TRUTH[first]:
        far = 100 * min(abs(end - phase[1]) for phase in phases)
        middle = [p for p in phases if p[0] <= (begin + end) / 2 < p[1]][0]
        rate = 100 * abs(middle[2] / (middle[1] - middle[0]) / ((upto - reached) / (end - begin)) - 1)
        print("%s: break at %g: %.3f, rate %.2f" % (first, end, far, rate))
        failed |= far > limit_break or rate > limit_rate
        begin, reached = end, upto
    return failed or first != "instructions" or len(phases) > len(TRUTH[first]) + 2


if __name__ == "__main__":
    if sys.argv[1] == "check":
        sys.exit(check(sys.argv[2], *map(float, sys.argv[3:7])))
    given = [float(word) for word in sys.argv[2:]]
    numbers = given + [2000, 1000, 4, 1][len(given):]
    write(sys.argv[1], int(numbers[0]), numbers[1], numbers[2], int(numbers[3]))
