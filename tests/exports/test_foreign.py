# SPDX-License-Identifier: MIT
"""What stackctl push sends to servers of profiles, read by programs of others: go's pprof, and decoders that
were generated of the servers' own definitions. (servers.py reads it by code of ours.)"""

import base64
import collections
import json
import os

import otlp_schema
import test_servers
from common import NPM, ROOT, STORES, Skip, check, functions, is_even, need, node, npm, run
from common import exports
from servers import Otlp, Parca, Pyroscope
from test_tools import pprof_top

KINDS = ("small", "inferred", "metrics", "real")


def sent(kind, store):
    """The bodies of the requests by which a server got a store."""
    receiver = kind()
    receiver.bodies = []
    test_servers.push(receiver.url(), store, says="recordings sent: 1")
    check(receiver.bodies and not receiver.refused, "bodies, %r" % receiver.refused)
    return receiver.bodies


def written(name, data):
    path = STORES.path(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def foreign(kind, body, *more):
    return json.loads(run(node(), os.path.join(ROOT, "tests/exports/foreign.mjs"),
                          os.path.abspath(os.path.join(NPM, "node_modules")), kind, written("body", body), *more))


def check_pprof(bodies, store, what):
    """Functions by go's pprof against the report: of the first body, which has the samples. It reads the others,
    of other metrics, too."""
    for number, body in enumerate(bodies[1:]):
        run("go", "tool", "pprof", "-top", written("pushed-%d.pb" % number, body))
    top = pprof_top(written("pushed.pb", bodies[0]))
    wanted = collections.defaultdict(list)
    for (name, _), counts in functions(store).items():
        wanted[name].append(counts)
    compared = 0
    if not is_even(store):
        return
    for name, rows in top.items():
        if len(rows) == 1 and len(wanted[name]) == 1:
            check(rows[0] == wanted[name][0], "%s: %s: %r, and %r in the report" % (what, name, rows, wanted[name]))
            compared += 1
    print("%s: %d of %d functions agree" % (what, compared, len(top)))
    check(compared and compared * 2 > len(top), what + ": %d of %d functions" % (compared, len(top)))


@exports
def test_foreign_pprof():
    need("go")
    for kind in KINDS:
        store = test_servers.store_of(kind)
        check_pprof(sent(Pyroscope, store), store, "Pyroscope, " + kind)


@exports
def test_foreign_parca():
    npm("@parca/client")
    need("go")
    for kind in KINDS:
        store = test_servers.store_of(kind)
        profiles = []
        for body in sent(Parca, store):
            for series in foreign("parca", body):
                check(series["labels"]["__name__"] and series["labels"]["job"] == "stackd", series["labels"])
                profiles += [base64.b64decode(profile) for profile in series["profiles"]]
        check_pprof(profiles, store, "Parca, " + kind)


@exports
def test_foreign_otlp():
    """By a decoder of others, with the description of the wire format that otlp_schema.py makes of
    wire.py's tables. Where there is a copy of the official definition (STACKD_OTLP_PROTO=FOLDER, below
    which opentelemetry/proto is), the tables are those of it."""
    protos = os.environ.get("STACKD_OTLP_PROTO")
    if protos:
        wrong = list(otlp_schema.differences(protos))
        check(not wrong, "the tables are not the official ones", *wrong)
        print("the tables are the official ones")
    npm("protobufjs")
    schema = written("otlp.json", json.dumps({"request": otlp_schema.REQUEST,
                                              **otlp_schema.descriptor()}).encode())
    for kind in KINDS + ("hostile", "waits", "heap", "deep"):
        store = test_servers.store_of(kind)
        samples = 0
        for body in sent(Otlp, store):
            request = foreign("otlp", body, schema)
            strings = request["dictionary"]["string_table"]
            for resource in request["resource_profiles"]:
                for scope in resource["scope_profiles"]:
                    for profile in scope["profiles"]:
                        name = strings[int(profile["sample_type"]["type_strindex"])]
                        samples += sum(int(value) for sample in profile["samples"] for value in sample["values"]
                                       if name == "samples")
        check(not is_even(store) or samples == sum(test_servers.folded(store).values()), "%s: %d samples" %
              (kind, samples))
        print("%s: %d samples agree" % (kind, samples))
