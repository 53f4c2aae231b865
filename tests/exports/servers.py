# SPDX-License-Identifier: MIT
"""Servers of profiles for the tests: they refuse what the real ones' documented interfaces and checks refuse,
and keep what they take as sums by command and call path. What a test says of them beforehand goes wrong.

The checks are those of Parca and Pyroscope of August 2026 and of OTLP 1.11, as their sources have them."""

import base64
import collections
import gzip
import http.server
import json
import re
import threading
import time
import urllib.parse

import wire

MOST_BYTES, MOST_SAMPLES = 4 << 20, 16000
BURST = 2 << 20  # what Pyroscope takes at once, by default, unpacked: a larger profile is refused for ever


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def demand(condition, text, status=400):
    if not condition:
        raise Refused(status, text)


def unpacked(data):
    """Pprof is packed, which older Parcas insist on."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise Refused(400, "no gzip: %s" % error) from error


def check_pprof(p):
    """That the tables stand in the order of their ids, and that everything refers to something."""
    strings = p["string_table"]
    demand(strings and strings[0] == "", "the first string is not empty")
    for table in ("mapping", "function", "location"):
        for number, row in enumerate(p[table]):
            demand(row["id"] == number + 1, table + ": ids are not in order")
            for name in ("filename", "build_id", "name", "system_name"):
                demand(0 <= row.get(name, 0) < len(strings), "%s: %s is no string" % (table, name))
    for location in p["location"]:
        demand(0 <= location["mapping_id"] <= len(p["mapping"]), "a location's mapping")
        for line in location["line"]:
            demand(1 <= line["function_id"] <= len(p["function"]), "a location's function")
    for sample in p["sample"]:
        demand(len(sample["value"]) == len(p["sample_type"]), "a sample's values")
        demand(all(1 <= number <= len(p["location"]) for number in sample["location_id"]), "a sample's location")
        for label in sample["label"]:
            demand(0 < label["key"] < len(strings) and 0 <= label["str"] < len(strings), "a label")


class Sums:
    """What a server has taken."""

    def __init__(self):
        self.paths = collections.Counter()  # by (command, root, ..., leaf): samples
        self.values = collections.Counter()  # by type and unit
        self.labels = set()  # of samples, by name
        self.types = set()  # of profiles, by the server's own names
        self.requests = 0

    def add_pprof(self, data, most_samples, check_types):
        try:
            data = unpacked(data)
            demand(len(data) <= MOST_BYTES, "profile payload size exceeds limit", 422)
            p = wire.decode(data, wire.PPROF)
        except (wire.Malformed, UnicodeDecodeError) as error:
            raise Refused(400, "no pprof: %s" % error) from error
        check_pprof(p)
        demand(0 < len(p["sample"]) <= most_samples, "%d samples" % len(p["sample"]), 422)
        demand(p["time_nanos"] > 0 and p["duration_nanos"] >= 0, "no time")
        strings = p["string_table"]
        types = [(strings[t["type"]], strings[t["unit"]]) for t in p["sample_type"]]
        period = p["period_type"] or {"type": 0, "unit": 0}
        self.types |= check_types(types, (strings[period["type"]], strings[period["unit"]]), p)
        names = [[strings[p["function"][line["function_id"] - 1]["name"]] for line in reversed(location["line"])]
                 for location in p["location"]]
        for sample in p["sample"]:
            labels = {strings[label["key"]]: strings[label["str"]] for label in sample["label"]}
            path = [name for number in reversed(sample["location_id"]) for name in names[number - 1]]
            self.labels |= set(labels)
            if types[0] == ("samples", "count"):
                self.paths[(labels.get("comm"), *path)] += sample["value"][0]
            for kind, value in zip(types, sample["value"]):
                self.values[kind] += value
        return p


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # noqa: N802 (its name)
        server = self.server
        number, server.number = server.number, server.number + 1
        length = int(self.headers["Content-Length"])
        fault = server.faults.pop(number, None)
        if fault == "drop":  # in the middle of the body
            self.rfile.read(length // 2)
            self.connection.close()
            return
        body = self.rfile.read(length)
        if fault == "held":
            server.release.wait()
        try:
            if isinstance(fault, tuple):
                raise Refused(*fault)
            if server.password is not None:
                wanted = "Basic " + base64.b64encode(("pusher:" + server.password).encode()).decode()
                demand(self.headers.get("Authorization") == wanted, "who are you?", 401)
            for name, value in server.headers_wanted.items():
                demand(self.headers.get(name) == value, "what is %s?" % self.headers.get(name), 401)
            demand(length <= server.most_bytes, "request body too large", 413)
            encoding = self.headers.get("Content-Encoding")
            demand(encoding in (None, "gzip"), "unsupported encoding", 415)
            body = unpacked(body) if encoding else body
            server.take(self, body)
            server.sums.requests += 1
            if server.bodies is not None:
                server.bodies.append(body)
            if fault == "silence":
                self.connection.recv(1)  # until stackctl goes
            elif fault != "after":  # else it has taken that, and nobody learns it
                self.answer(200, server.success)
        except Refused as refused:
            server.refused.append(str(refused))
            self.answer(refused.status, server.error_body(refused))

    def answer(self, status, body):
        self.send_response(status)
        if status in self.server.retry_after:
            self.send_header("Retry-After", self.server.retry_after[status])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Receiver(http.server.ThreadingHTTPServer):
    """`faults` has what becomes of requests, by number from 0: "drop", "after", "silence", "held" until `release` is
    set, or (status, text)."""

    scheme, path = None, None

    def __init__(self, password=None, most_bytes=1 << 30, most_samples=MOST_SAMPLES, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.password, self.most_bytes, self.most_samples = password, most_bytes, most_samples
        self.faults, self.retry_after, self.number = {}, {}, 0
        self.never, self.never_status = None, 422  # a pattern of types
        self.headers_wanted = {}
        self.bodies = None  # a list: of all that is taken
        self.release = threading.Event()
        self.sums, self.refused, self.names, self.success = Sums(), [], set(), b""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, behind=""):
        return "%s://127.0.0.1:%d%s" % (self.scheme, self.server_address[1], behind)

    def error_body(self, refused):
        return str(refused).encode()

    def refuse_types(self, types):
        """What a test says that the server can never take."""
        demand(not self.never or not any(re.search(self.never, name) for name in types), "can never take that",
               self.never_status)

    def handle_error(self, *_):
        pass  # of connections that a test breaks off


def demand_burst(body):
    demand(len(body) <= BURST, "push rate limit (4.0 MiB) exceeded while adding %d B" % len(body), 429)


class Pyroscope(Receiver):
    scheme, path = "pyroscope", "/ingest"
    has_window = False  # of time

    def take(self, handler, body):
        url = urllib.parse.urlsplit(handler.path)
        demand(url.path == self.path, "404 page not found", 404)
        query = urllib.parse.parse_qs(url.query, strict_parsing=True)
        name = re.fullmatch(r"([\w./-]+)\{((?:[\w.]+=[^,{}=]*,?)*)\}", query["name"][0], re.ASCII)
        demand(name, "name: character is not allowed")
        self.names.add(query["name"][0])
        demand(query["format"] == ["pprof"], "format")
        start, end = int(query["from"][0]), int(query["until"][0])
        demand(0 < start <= end, "times")
        now = time.time()  # Pyroscope's own limits, where a test asks for them
        demand(not self.has_window or now - 3600 < start < now + 600, "outside of the ingestion window", 422)
        demand_burst(unpacked(body))
        p = self.sums.add_pprof(body, self.most_samples, self.types_of)
        demand(start * 10 ** 9 <= p["time_nanos"] and
               p["time_nanos"] + p["duration_nanos"] <= end * 10 ** 9, "times do not agree")


    def types_of(self, types, period, p):
        """Of the types of a profile that it takes, by the names that it gives them."""
        del p
        demand(not any("-" in kind for kind, _ in types), "sample type contains -", 422)
        self.refuse_types([kind for kind, _ in types])
        name = next(("process_cpu" if "cpu" in kind else "memory" for kind, _ in types
                     if re.search("cpu|alloc_|inuse_", kind)), types[-1][0])
        return {":".join((name, *kind, *period)) for kind in types}


class Counter(Receiver):
    """Counts samples of pprof, each of which is one, and looks at no more than limits."""

    scheme, path = "pyroscope", "/ingest"

    def take(self, handler, body):
        del handler
        body = unpacked(body)
        demand(len(body) <= MOST_BYTES, "profile payload size exceeds limit", 422)
        demand_burst(body)
        samples = sum(number == 2 for number, _, _ in wire.fields(body))
        demand(0 < samples <= self.most_samples, "%d samples" % samples, 422)
        self.sums.paths[None] += samples


class Parca(Receiver):
    scheme, path = "parca", "/profiles/writeraw"

    def take(self, handler, body):
        demand(handler.path == self.path, "Not Found", 404)
        demand(handler.headers["Content-Type"] == "application/json", "unsupported media type", 415)
        request = json.loads(body)
        demand(set(request) <= {"tenant", "series", "normalized"}, "unknown field")
        for series in request["series"]:
            demand(set(series) == {"labels", "samples"}, "unknown field")
            labels = [(label["name"], label["value"]) for label in series["labels"]["labels"]]
            demand(len(dict(labels)) == len(labels), "duplicate label name")
            demand(dict(labels).get("__name__"), "missing __name__ label")
            demand(all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) for name, _ in labels), "invalid label name")
            self.names.add(tuple(labels))
            for sample in series["samples"]:
                demand(set(sample) == {"rawProfile"}, "unknown field")
                self.series = dict(labels)["__name__"]
                self.sums.add_pprof(base64.b64decode(sample["rawProfile"], validate=True), self.most_samples,
                                    self.types_of)

    def types_of(self, types, period, p):
        """Parca parses what it calls each type that has values as a selector of PromQL, and fails with the status of
        gRPC for unknown errors."""
        names = {":".join((self.series, *kind, *period)) + (":delta" if p["duration_nanos"] else "")
                 for number, kind in enumerate(types) if any(sample["value"][number] for sample in p["sample"])}
        for name in names:
            demand(re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", name), "invalid profile type at row 0 (%s)" % name, 500)
            demand(name.count(":") in (4, 5), "it could not be asked for: " + name, 500)
        self.refuse_types(names)
        return names

    def error_body(self, refused):
        code = {400: 3, 401: 16, 404: 5, 429: 8, 500: 2, 503: 14}.get(refused.status, 13)
        return json.dumps({"code": code, "message": str(refused), "details": []}).encode()


# --- OTLP ----------------------------------------------------------------------------------------

def places(message, name=""):
    """(table, index) of all that a message refers to."""
    for field, value in message.items():
        if field.endswith("_strindex"):
            yield "string_table", value
        elif field.endswith(("_index", "_indices")):
            for index in value if isinstance(value, list) else [value]:
                yield re.sub("_(index|indices)$", "_table", field), index
        else:
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, dict):
                    yield from places(part, field)


def is_empty(row):
    if isinstance(row, dict):
        return all(is_empty(value) for value in row.values())
    return not row or (isinstance(row, bytes) and not any(row))


def unique_keys(keys, what):
    demand(len(set(keys)) == len(keys), what + ": a key stands twice")


class Dictionary:
    """The tables of a request, held against what the specification demands of them, SHOULD included."""

    def __init__(self, request):
        self.tables = d = request["dictionary"]
        demand(d is not None, "no dictionary")
        for name, rows in d.items():
            demand(rows and is_empty(rows[0]), name + ": the first row is not empty")
            demand(len(set(map(repr, rows))) == len(rows), name + ": a row stands twice")
        used = set(places(request))
        for table, index in used:
            demand(0 <= index < len(d[table]), "%s has no row %d" % (table, index))
        for name, rows in d.items():
            for index in range(1, len(rows)):
                demand((name, index) in used, "%s: row %d is used by nothing" % (name, index))
        for function in d["function_table"][1:]:
            demand(not is_empty({k: v for k, v in function.items() if k != "start_line"}), "a nameless function")
        for location in d["location_table"][1:]:
            mapping = d["mapping_table"][location["mapping_index"]]
            demand(not location["mapping_index"] or
                   mapping["memory_start"] <= location["address"] % 2 ** 64 <= mapping["memory_limit"] % 2 ** 64,
                   "an address")
            demand(location["lines"], "a location without lines")
        for attribute in d["attribute_table"][1:]:
            demand(attribute["key_strindex"] and attribute["value"], "an attribute")

    def string(self, index):
        return self.tables["string_table"][index]

    def attributes(self, indices):
        rows = [self.tables["attribute_table"][index] for index in indices]
        unique_keys([row["key_strindex"] for row in rows], "attributes")
        return {self.string(row["key_strindex"]): row["value"]["string_value"] or row["value"]["int_value"]
                for row in rows}

    def path(self, stack):
        demand(stack > 0, "a sample without a stack")
        indices = self.tables["stack_table"][stack]["location_indices"]
        demand(indices and all(indices), "a stack's locations")
        return [self.string(self.tables["function_table"][line["function_index"]]["name_strindex"])
                for index in reversed(indices)
                for line in reversed(self.tables["location_table"][index]["lines"])]

    def types(self):
        """{function: (its frame type, file, first line, object)}"""
        types = {}
        for location in self.tables["location_table"][1:]:
            kind = self.attributes(location["attribute_indices"]).get("profile.frame.type")
            mapping = self.tables["mapping_table"][location["mapping_index"]]
            for line in location["lines"]:
                function = self.tables["function_table"][line["function_index"]]
                types[self.string(function["name_strindex"])] = (
                    kind, self.string(function["filename_strindex"]), function["start_line"],
                    self.string(mapping["filename_strindex"]))
        return types


class Otlp(Receiver):
    scheme, path = "otlp+http", "/v1development/profiles"

    def take(self, handler, body):
        demand(handler.path == self.path, "404 page not found", 404)
        demand(handler.headers["Content-Type"] == "application/x-protobuf", "unsupported media type", 415)
        try:
            request = wire.decode(body, wire.OTLP)
        except (wire.Malformed, UnicodeDecodeError) as error:
            raise Refused(400, "no request: %s" % error) from error
        dictionary = Dictionary(request)
        self.types = dictionary.types()
        for resource in request["resource_profiles"]:
            attributes = resource["resource"]["attributes"]
            unique_keys([pair["key"] for pair in attributes], "resource")
            self.names.add(tuple((pair["key"], pair["value"]["string_value"]) for pair in attributes))
            for scope in resource["scope_profiles"]:
                demand(scope["scope"]["name"], "no scope")
                for profile in scope["profiles"]:
                    self.take_profile(dictionary, profile)

    def take_profile(self, dictionary, profile):
        kind = tuple(dictionary.string(profile["sample_type"][name]) for name in ("type_strindex", "unit_strindex"))
        demand(all(kind), "no type")
        demand(len(profile["profile_id"]) == 16 and any(profile["profile_id"]), "no id")
        if profile["profile_id"] in self.ids:
            self.twice += 1
            return
        demand(profile["time_unix_nano"] > 0, "no time")
        demand(0 < len(profile["samples"]) <= self.most_samples, "%d samples" % len(profile["samples"]))
        demand(not profile["period"] or profile["period_type"], "a period of nothing")
        period = [dictionary.string((profile["period_type"] or {}).get(name, 0))
                  for name in ("type_strindex", "unit_strindex")]
        self.sums.types |= self.types_of(kind, period if profile["period"] else ["", ""])
        self.ids.add(profile["profile_id"])
        seen = set()
        for sample in profile["samples"]:
            identity = (sample["stack_index"], frozenset(sample["attribute_indices"]), sample["link_index"])
            demand(identity not in seen, "a sample's identity is that of another one")
            seen.add(identity)
            demand(len(sample["values"]) == 1 and not sample["timestamps_unix_nano"], "a sample's values")
            labels = dictionary.attributes(sample["attribute_indices"])
            self.sums.labels |= set(labels)
            self.sums.values[kind] += sample["values"][0]
            if kind == ("samples", "count"):
                self.sums.paths[(labels["thread.name"], *dictionary.path(sample["stack_index"]))] += \
                    sample["values"][0]

    def types_of(self, kind, period):
        self.refuse_types(kind[:1])
        return {":".join((*kind, *period))}

    def __init__(self, *arguments, **more):
        self.ids, self.twice, self.types = set(), 0, {}
        super().__init__(*arguments, **more)


class PyroscopeOtlp(Otlp):
    """Pyroscope's receiver of OTLP: the type of the period is the profile's name, and it fails at a request of which
    it has refused a part, though it has taken the rest."""

    def types_of(self, kind, period):
        demand("-" not in kind[0], "sample type contains -")
        self.refuse_types(kind[:1])
        if (*kind, *period) == ("samples", "count", "cpu", "nanoseconds"):
            return {"process_cpu:cpu:nanoseconds:cpu:nanoseconds"}
        demand(period[0], "invalid labels with error: invalid metric name")
        return {":".join((period[0], *kind, *period))}

    def take_profile(self, dictionary, profile):
        self.ids.clear()  # it does not know them
        self.profiles += 1
        demand(self.profiles not in self.limited, "ingestion rate limit", 429)
        super().take_profile(dictionary, profile)

    def __init__(self, *arguments, **more):
        self.profiles, self.limited = 0, set()  # numbers of profiles that come too soon, from 1 on
        super().__init__(*arguments, **more)
