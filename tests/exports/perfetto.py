# SPDX-License-Identifier: MIT
"""A reader of Perfetto traces, by the field numbers of its published .proto files. It takes nothing that they do
not allow, and nothing that trace_processor would drop or draw in a wrong place: what breaks a rule raises Bad."""

import collections

import wire

CLOCK = {1: ("id", "int"), 2: ("time", "int")}
SNAPSHOT = {1: ("clocks", [CLOCK]), 2: ("primary", "int")}
DEFAULTS = {58: ("clock", "int")}
PROCESS = {1: ("pid", "int"), 2: ("command", ["string"]), 6: ("name", "string")}
THREAD = {1: ("pid", "int"), 2: ("tid", "int"), 5: ("name", "string")}
COUNTER = {3: ("unit", "int")}
TRACK = {1: ("uuid", "int"), 2: ("name", "string"), 3: ("process", PROCESS), 4: ("thread", THREAD),
         5: ("parent", "int"), 8: ("counter", COUNTER)}
ANNOTATION = {3: ("value", "int"), 10: ("name", "string")}
EVENT = {4: ("annotations", [ANNOTATION]), 9: ("type", "int"), 11: ("track", "int"), 22: ("categories", ["string"]),
         23: ("name", "string"), 30: ("value", "int"), 47: ("flows", ["fixed64"]), 48: ("flow_ends", ["fixed64"]),
         56: ("stack", "int")}
SAMPLE = {1: ("cpu", "int"), 2: ("pid", "int"), 3: ("tid", "int"), 4: ("stack", "int")}
STRING = {1: ("iid", "int"), 2: ("text", "bytes")}
MAPPING = {1: ("iid", "int"), 2: ("build_id", "int"), 7: ("path", ["int"])}
FRAME = {1: ("iid", "int"), 2: ("function", "int"), 3: ("mapping", "int"), 4: ("pc", "int"), 5: ("source", "int"),
         6: ("line", "int"), 7: ("kind", "int")}
STACK = {1: ("iid", "int"), 2: ("frames", ["int"])}
INTERNED = {5: ("functions", [STRING]), 6: ("frames", [FRAME]), 7: ("stacks", [STACK]), 16: ("build_ids", [STRING]),
            17: ("paths", [STRING]), 18: ("sources", [STRING]), 19: ("mappings", [MAPPING])}
PACKET = {6: ("snapshot", SNAPSHOT), 8: ("time", "int"), 10: ("sequence", "int"), 11: ("event", EVENT),
          12: ("interned", INTERNED), 13: ("flags", "int"), 59: ("defaults", DEFAULTS), 60: ("track", TRACK),
          66: ("sample", SAMPLE), 87: ("is_first", "int")}
MONOTONIC, REALTIME = 3, 1
BEGIN, END, INSTANT, VALUE = 1, 2, 3, 4

# `thread` is (pid, tid); `stack` is a list of Frames, root first, or None; `own`: less the time of direct children.
Frame = collections.namedtuple("Frame", "name path pc source line kind")
Slice = collections.namedtuple("Slice", "thread track name category begin end own stack values")
Moment = collections.namedtuple("Moment", "thread track name time")


class Bad(Exception):
    pass


def rule(holds, *words):
    if not holds:
        raise Bad(" ".join(map(str, words)))


class Trace:
    """samples: (pid, tid, time, stack); slices; moments; flows: {number: (begin, end)}, Moments; values: {((pid, tid)
    or (pid,), track's name): [(time, value)]}; threads: (pid, tid, name); processes: (pid, name, command)."""

    def __init__(self, path):
        self.tables = {name: {} for name, _ in INTERNED.values()}
        self.tracks, self.open, self.last = {}, collections.defaultdict(list), {}
        self.samples, self.slices, self.moments, self.values = [], [], [], collections.defaultdict(list)
        self.begun, self.flows, self.expanded = {}, {}, {}
        with open(path, "rb") as file:
            data = file.read()
        for i, (number, kind, value) in enumerate(wire.fields(data)):
            rule((number, kind) == (1, 2), "the file has field", number)
            self.read(wire.decode(value, PACKET), i == 0)
        rule(not any(self.open.values()), "slices that do not end")
        rule(not self.begun, "flows that do not end:", self.begun)
        self.threads = {(t["thread"]["pid"], t["thread"]["tid"], t["thread"]["name"])
                        for t in self.tracks.values() if t["thread"]}
        self.processes = {(t["process"]["pid"], t["process"]["name"], *t["process"]["command"])
                          for t in self.tracks.values() if t["process"]}

    def read(self, packet, is_first):
        rule(packet["sequence"] == 1, "a packet of another sequence:", packet)
        if is_first:
            rule(packet["flags"] & 1 and packet["is_first"] and packet["defaults"]["clock"] == MONOTONIC,
                 "the first packet:", packet)
            self.clocks = {clock["id"]: clock["time"] for clock in packet["snapshot"]["clocks"]}
            rule(set(self.clocks) == {MONOTONIC, REALTIME} and packet["snapshot"]["primary"] == MONOTONIC,
                 "clocks:", packet)
            return
        rule(not packet["flags"] & 1 and not packet["snapshot"], "the tables begin again:", packet)
        if packet["interned"]:
            rule(packet["flags"] & 2, "a table without its flag")
            self.intern(packet["interned"])
        if packet["track"]:
            self.define(packet["track"])
        if packet["sample"]:
            sample = packet["sample"]
            rule(packet["flags"] & 2 and packet["time"], "a sample:", packet)
            self.samples.append((sample["pid"], sample["tid"], packet["time"], self.stack(sample["stack"])))
        if packet["event"]:
            rule(packet["flags"] & 2 and packet["time"], "an event:", packet)
            self.happen(packet["event"], packet["time"])

    def intern(self, interned):
        for name, rows in interned.items():
            for row in rows:
                rule(row["iid"] > 0 and row["iid"] not in self.tables[name], name, "twice:", row["iid"])
                is_text = "text" in row and name != "build_ids"
                self.tables[name][row["iid"]] = row["text"].decode("utf-8") if is_text else row

    def stack(self, iid):
        if iid not in self.expanded:
            self.expanded[iid] = [self.frame(number) for number in self.tables["stacks"][iid]["frames"]]
            rule(self.expanded[iid], "a stack without frames")
        return self.expanded[iid]

    def frame(self, iid):
        frame = self.tables["frames"][iid]
        mapping = self.tables["mappings"][frame["mapping"]]
        rule(not mapping["build_id"] or self.tables["build_ids"][mapping["build_id"]], "a build-id")
        return Frame(self.tables["functions"][frame["function"]],
                     "/".join(self.tables["paths"][number] for number in mapping["path"]), frame["pc"],
                     self.tables["sources"][frame["source"]] if frame["source"] else None, frame["line"], frame["kind"])

    def define(self, track):
        rule(track["uuid"] and track["uuid"] not in self.tracks, "a track twice:", track)
        rule(not track["parent"] or track["parent"] in self.tracks, "a track before its parent:", track)
        rule(sum(map(bool, (track["process"], track["thread"], track["name"]))) == 1, "a track:", track)
        if track["thread"]:
            rule(self.tracks[track["parent"]]["process"]["pid"] == track["thread"]["pid"], "a thread's process:", track)
        self.tracks[track["uuid"]] = track

    def owner(self, track):
        """The thread (pid, tid) or process (pid,) of a track."""
        while not track["thread"] and not track["process"]:
            track = self.tracks[track["parent"]]
        return (track["thread"]["pid"], track["thread"]["tid"]) if track["thread"] else (track["process"]["pid"],)

    def happen(self, event, time):
        track = self.tracks[event["track"]]
        if event["type"] != INSTANT:  # readers sort these
            rule(self.last.get(event["track"], 0) <= time, "a track goes back in time:", track, time)
            self.last[event["track"]] = time
        rule((event["type"] == VALUE) == bool(track["counter"]), "a counter:", event, track)
        stack, thread = self.open[event["track"]], self.owner(track)
        if event["type"] == BEGIN:
            rule(event["name"] and len(event["categories"]) == 1, "a slice:", event)
            stack.append([event, time, 0])
        elif event["type"] == END:
            rule(stack, "an end without a begin:", event)
            start, begin, nested = stack.pop()
            if stack:
                stack[-1][2] += time - begin
            self.slices.append(Slice(thread, event["track"], start["name"], start["categories"][0], begin, time,
                                     time - begin - nested, self.stack(start["stack"]) if start["stack"] else None,
                                     {a["name"]: a["value"] for a in start["annotations"]}))
        elif event["type"] == INSTANT:
            moment = Moment(thread, event["track"], event["name"], time)
            self.moments.append(moment)
            for number in event["flows"]:
                rule(number and number not in self.begun and number not in self.flows, "a flow twice:", event)
                self.begun[number] = moment
            for number in event["flow_ends"]:
                begin = self.begun.pop(number)
                rule(begin.time <= time, "a flow goes back in time:", begin, moment)
                self.flows[number] = (begin, moment)
        else:
            rule(event["type"] == VALUE, "an event:", event)
            self.values[thread, track["name"]].append((time, event["value"]))
