# SPDX-License-Identifier: MIT
"""OTLP's profiles for a decoder of others: the tables of wire.py as the description that protobufjs
takes, and a comparison of these tables with the official definition, where there is a copy of it.

Each table is a message by its official name. A number of any integer type has one form on the wire, so
int64 stands for all of them."""

import glob
import os
import re

import wire

MESSAGES = {
    "ExportProfilesServiceRequest": wire.OTLP, "ProfilesDictionary": wire.DICTIONARY,
    "ResourceProfiles": wire.RESOURCE_PROFILES, "ScopeProfiles": wire.SCOPE_PROFILES,
    "Resource": wire.RESOURCE, "InstrumentationScope": wire.SCOPE, "KeyValue": wire.KEY_VALUE,
    "AnyValue": wire.ANY_VALUE, "Profile": wire.PROFILE, "ValueType": wire.OTLP_TYPE,
    "Sample": wire.OTLP_SAMPLE, "Mapping": wire.OTLP_MAPPING, "Stack": wire.STACK,
    "Location": wire.OTLP_LOCATION, "Line": wire.OTLP_LINE, "Function": wire.OTLP_FUNCTION,
    "Link": wire.LINK, "KeyValueAndUnit": wire.ATTRIBUTE,
}
REQUEST = "ExportProfilesServiceRequest"
INTEGERS = {"int32", "int64", "uint32", "uint64", "bool"}  # varints, all of them
ONE_OF = {"AnyValue": "value"}  # of which a field may be there though it has its default


def name_of(table):
    return next(name for name, other in MESSAGES.items() if other is table)


def type_of(kind):
    return name_of(kind) if isinstance(kind, dict) else "int64" if kind == "int" else kind


def descriptor():
    """The description as protobufjs reads it: {"nested": {message: {"fields": ...}}}."""
    nested = {}
    for message, table in MESSAGES.items():
        fields = {}
        for number, (name, kind) in table.items():
            is_list = isinstance(kind, list)
            field = {"id": number, "type": type_of(kind[0] if is_list else kind)}
            if is_list:
                field["rule"] = "repeated"
                if field["type"] in ("int64", "fixed64"):
                    field["options"] = {"packed": True}
            fields[name] = field
        nested[message] = {"fields": fields}
        if message in ONE_OF:
            nested[message]["oneofs"] = {ONE_OF[message]: {"oneof": list(fields)}}
    return {"nested": nested}


def official(folder):
    """{message: {number: (name, type, is repeated)}} of the definition below a folder."""
    messages = {}
    for path in glob.glob(os.path.join(folder, "opentelemetry/proto/**/*.proto"), recursive=True):
        if not re.search("profiles|common|resource", path):
            continue
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read(), flags=re.S)
        for message in re.finditer(r"message (\w+) \{(.*?)\n\}", text, re.S):
            messages[message[1]] = {
                int(number): (name, kind.rsplit(".", 1)[-1], bool(repeated))
                for repeated, kind, name, number in
                re.findall(r"(repeated )?([\w.]+)\s+(\w+)\s*=\s*(\d+)[^;\d]*;", message[2])}
    return messages


def differences(folder):
    """What the tables have otherwise than the definition below a folder: lines."""
    theirs = official(folder)
    for message, table in MESSAGES.items():
        for number, (name, kind) in table.items():
            is_list = isinstance(kind, list)
            mine = type_of(kind[0] if is_list else kind)
            other = theirs.get(message, {}).get(number)
            if other:
                other = (other[0], "int64" if other[1] in INTEGERS else other[1], other[2])
            if other != (name, mine, is_list):
                yield "%s %d: %r, officially %r" % (message, number, (name, mine, is_list), other)
