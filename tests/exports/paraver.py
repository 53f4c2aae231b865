# SPDX-License-Identifier: MIT
"""A reader of Paraver traces that takes nothing that the format's description does not allow: what
breaks a rule raises Bad."""

import collections
import re

REGION, REGION_LINE, CALLER, CALLER_LINE, COUNTER = 60000019, 60000119, 30000000, 30000100, 42001000

Record = collections.namedtuple("Record", "cpu task thread time events")


class Bad(Exception):
    pass


def rule(holds, *words):
    if not holds:
        raise Bad(" ".join(map(str, words)))


def lines_of(path):
    with open(path, "rb") as file:
        text = file.read()
    rule(text.endswith(b"\n"), path, "does not end with a line end")
    rule(all(byte == 10 or 32 <= byte < 127 for byte in text), path, "is not ASCII text")
    return text.decode("ascii").split("\n")[:-1]


class Trace:
    """records: in their order; threads: by task, how many; types: {number: name}; values: {type: {number: name}}."""

    def __init__(self, path):
        self.records = []
        self.read_names(path[:-4] + ".pcf")
        lines = lines_of(path)
        self.read_header(lines[0])
        self.read_rows(path[:-4] + ".row")
        for line in lines[1:]:
            self.read_record(line)

    def read_header(self, line):
        match = re.fullmatch(r"#Paraver \(\d\d/\d\d/\d{4} at \d\d:\d\d\):(\d+)_ns:1\((\d+)\):1:"
                             r"(\d+)\(((?:\d+:1,?)+)\),0", line)
        rule(match, "header:", line)
        self.end, self.cpus = int(match[1]), int(match[2])
        self.threads = [int(part.split(":")[0]) for part in match[4].split(",")]
        rule(len(self.threads) == int(match[3]) and all(self.threads), "tasks:", line)

    def read_names(self, path):
        self.types, self.values = {}, {}
        types, section = [], ""
        for line in lines_of(path):
            if re.fullmatch("[A-Z_]+", line):
                section = line
                types = [] if line == "EVENT_TYPE" else types
            elif section == "EVENT_TYPE" and line:
                match = re.fullmatch(r"(\d+) +(\d+) +(\S.*)", line)
                rule(match and int(match[1]) <= 14, "type:", line)
                rule(int(match[2]) not in self.types, "a type twice:", line)
                types.append(int(match[2]))
                self.types[types[-1]] = match[3]
                self.values[types[-1]] = {}
            elif section == "VALUES" and line:
                match = re.fullmatch(r"(\d+) +(\S.*)", line)
                rule(match and types, "value:", line)
                for number in types:
                    rule(int(match[1]) not in self.values[number], "a value twice:", line)
                    self.values[number][int(match[1])] = match[2]

    def read_rows(self, path):
        self.rows, left = {}, 0
        for line in lines_of(path):
            match = re.fullmatch(r"LEVEL (CPU|NODE|TASK|THREAD) SIZE (\d+)", line)
            if left:
                names.append(line)
                left -= 1
            elif match:
                names, left = self.rows.setdefault(match[1], []), int(match[2])
            else:
                rule(not line, "row:", line)
        rule(not left, "rows are missing")
        sizes = {level: len(names) for level, names in self.rows.items()}
        rule(sizes == {"CPU": self.cpus, "NODE": 1, "TASK": len(self.threads),
                       "THREAD": sum(self.threads)}, "sizes:", sizes)

    def read_record(self, line):
        rule(re.fullmatch(r"2:\d+:1:\d+:\d+:\d+(:\d+:\d+)+", line), "record:", line)
        _, cpu, _, task, thread, time, *rest = map(int, line.split(":"))
        rule(1 <= cpu <= self.cpus and 1 <= task <= len(self.threads), "CPU or task:", line)
        rule(1 <= thread <= self.threads[task - 1] and time <= self.end, "thread or time:", line)
        rule(not self.records or self.records[-1].time <= time, "time goes back:", line)
        events = list(zip(rest[::2], rest[1::2]))
        counters = [number for number, _ in events if number // 1000 == COUNTER // 1000]
        rule(len(counters) == len(set(counters)), "a counter twice:", line)
        for number, value in events:
            rule(number in self.types, "a type without a name:", line)
            rule(not self.values[number] or value in self.values[number], "a value without a name:", line)
            rule(value < 1 << 63, "a value that has a sign:", line)
        self.records.append(Record(cpu, task, thread, time, events))

    # --- what it tells

    def instances(self):
        """(task, thread, name, begin, end, time within others, sums of counters) of each, which nest."""
        stacks, done = collections.defaultdict(list), []
        for record in self.records:
            stack = stacks[record.task, record.thread]
            # A counter tells of the time before its record.
            increments = {number: value for number, value in record.events if number >= COUNTER
                          and number < COUNTER + 100}
            for instance in stack:
                instance[3].update(increments)
            for number, value in record.events:
                if number == REGION and value:
                    stack.append([self.values[REGION][value], record.time, 0, collections.Counter()])
                elif number == REGION:
                    rule(stack, "an end without a beginning:", record)
                    name, begin, nested, sums = stack.pop()
                    if stack:
                        stack[-1][2] += record.time - begin
                    done.append((record.task, record.thread, name, begin, record.time, nested, dict(sums)))
        rule(not any(stacks.values()), "an instance does not end")
        return done

    def samples(self):
        """(record, [(function, line), ...]) of each sample, innermost first."""
        found = []
        for record in self.records:
            levels = dict(event for event in record.events if CALLER <= event[0] < CALLER_LINE + 100)
            n = len(levels) // 2
            rule(set(levels) == {base + i for base in (CALLER, CALLER_LINE) for i in range(n)},
                 "levels:", record)
            if n:
                found.append((record, [(self.values[CALLER + i][levels[CALLER + i]],
                                        self.values[CALLER_LINE + i][levels[CALLER_LINE + i]])
                                       for i in range(n)]))
        return found

    def increments(self):
        """{(task, thread, counter's name): sum}"""
        sums = collections.Counter()
        for record in self.records:
            for number, value in record.events:
                if COUNTER <= number < COUNTER + 100:
                    sums[record.task, record.thread, self.types[number]] += value
        return dict(sums)
