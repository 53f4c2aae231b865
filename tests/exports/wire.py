# SPDX-License-Identifier: MIT
"""Reads messages of protocol buffers as they are on the wire, by tables of fields: {number: (name, kind)},
where the kind is "int" (also bool), "fixed64", "string", "bytes", or the table of a nested message, as a list of
it where the field is repeated. A field that a table lacks is an error, for stackctl writes none that a
server would ignore."""

import struct


class Malformed(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    """(number, wire type, value) of each."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise Malformed("wire type %d" % wire)
        if at > len(data):
            raise Malformed("a field is cut off")
        yield key >> 3, wire, value


def scalars(kind, wire, value):
    """The values of a field: several if they are packed."""
    if kind == "fixed64":
        if len(value) % 8:
            raise Malformed("fixed64 of %d bytes" % len(value))
        return list(struct.unpack("<%dQ" % (len(value) // 8), value))
    if wire == 0:
        return [signed(value)]
    values, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        values.append(signed(number))
    return values


def decode(data, table):
    """{name: value}; what is not there has its default."""
    message = {}
    for name, kind in table.values():
        message[name] = ([] if isinstance(kind, list) else None if isinstance(kind, dict) else
                         "" if kind == "string" else b"" if kind == "bytes" else 0)
    for number, wire, value in fields(data):
        if number not in table:
            raise Malformed("field %d is not one of %r" % (number, [name for name, _ in table.values()]))
        name, kind = table[number]
        is_list = isinstance(kind, list)
        one = kind[0] if is_list else kind
        if (one in ("string", "bytes") or isinstance(one, dict)) and wire != 2:
            raise Malformed("%s has wire type %d" % (name, wire))
        if isinstance(one, dict):
            values = [decode(value, one)]
        elif one == "string":
            values = [value.decode("utf-8")]
        elif one == "bytes":
            values = [bytes(value)]
        else:
            values = scalars(one, wire, value)
        if is_list:
            message[name] += values
        else:
            message[name] = values[-1]
    return message


# --- pprof ---------------------------------------------------------------------------------------

VALUE_TYPE = {1: ("type", "int"), 2: ("unit", "int")}
LABEL = {1: ("key", "int"), 2: ("str", "int"), 3: ("num", "int"), 4: ("num_unit", "int")}
SAMPLE = {1: ("location_id", ["int"]), 2: ("value", ["int"]), 3: ("label", [LABEL])}
MAPPING = {1: ("id", "int"), 2: ("memory_start", "int"), 3: ("memory_limit", "int"), 4: ("file_offset", "int"),
           5: ("filename", "int"), 6: ("build_id", "int"), 7: ("has_functions", "int"),
           8: ("has_filenames", "int"), 9: ("has_line_numbers", "int"), 10: ("has_inline_frames", "int")}
LINE = {1: ("function_id", "int"), 2: ("line", "int")}
LOCATION = {1: ("id", "int"), 2: ("mapping_id", "int"), 3: ("address", "int"), 4: ("line", [LINE]),
            5: ("is_folded", "int")}
FUNCTION = {1: ("id", "int"), 2: ("name", "int"), 3: ("system_name", "int"), 4: ("filename", "int"),
            5: ("start_line", "int")}
PPROF = {1: ("sample_type", [VALUE_TYPE]), 2: ("sample", [SAMPLE]), 3: ("mapping", [MAPPING]),
         4: ("location", [LOCATION]), 5: ("function", [FUNCTION]), 6: ("string_table", ["string"]),
         7: ("drop_frames", "int"), 8: ("keep_frames", "int"), 9: ("time_nanos", "int"),
         10: ("duration_nanos", "int"), 11: ("period_type", VALUE_TYPE), 12: ("period", "int"),
         13: ("comment", ["int"]), 14: ("default_sample_type", "int")}


# --- OTLP: opentelemetry/proto/profiles/v1development and what it includes, version 1.10 ----------

ANY_VALUE = {1: ("string_value", "string"), 2: ("bool_value", "int"), 3: ("int_value", "int"),
             7: ("bytes_value", "bytes"), 8: ("string_value_strindex", "int")}
KEY_VALUE = {1: ("key", "string"), 2: ("value", ANY_VALUE), 3: ("key_strindex", "int")}
RESOURCE = {1: ("attributes", [KEY_VALUE]), 2: ("dropped_attributes_count", "int")}
SCOPE = {1: ("name", "string"), 2: ("version", "string"), 3: ("attributes", [KEY_VALUE]),
         4: ("dropped_attributes_count", "int")}
OTLP_TYPE = {1: ("type_strindex", "int"), 2: ("unit_strindex", "int")}
OTLP_SAMPLE = {1: ("stack_index", "int"), 2: ("attribute_indices", ["int"]), 3: ("link_index", "int"),
               4: ("values", ["int"]), 5: ("timestamps_unix_nano", ["fixed64"])}
PROFILE = {1: ("sample_type", OTLP_TYPE), 2: ("samples", [OTLP_SAMPLE]), 3: ("time_unix_nano", "fixed64"),
           4: ("duration_nano", "int"), 5: ("period_type", OTLP_TYPE), 6: ("period", "int"),
           7: ("profile_id", "bytes"), 8: ("dropped_attributes_count", "int"),
           9: ("original_payload_format", "string"), 10: ("original_payload", "bytes"),
           11: ("attribute_indices", ["int"])}
SCOPE_PROFILES = {1: ("scope", SCOPE), 2: ("profiles", [PROFILE]), 3: ("schema_url", "string")}
RESOURCE_PROFILES = {1: ("resource", RESOURCE), 2: ("scope_profiles", [SCOPE_PROFILES]),
                     3: ("schema_url", "string")}
OTLP_MAPPING = {1: ("memory_start", "int"), 2: ("memory_limit", "int"), 3: ("file_offset", "int"),
                4: ("filename_strindex", "int"), 5: ("attribute_indices", ["int"])}
STACK = {1: ("location_indices", ["int"])}
OTLP_LINE = {1: ("function_index", "int"), 2: ("line", "int"), 3: ("column", "int")}
OTLP_LOCATION = {1: ("mapping_index", "int"), 2: ("address", "int"), 3: ("lines", [OTLP_LINE]),
                 4: ("attribute_indices", ["int"])}
OTLP_FUNCTION = {1: ("name_strindex", "int"), 2: ("system_name_strindex", "int"),
                 3: ("filename_strindex", "int"), 4: ("start_line", "int")}
LINK = {1: ("trace_id", "bytes"), 2: ("span_id", "bytes")}
ATTRIBUTE = {1: ("key_strindex", "int"), 2: ("value", ANY_VALUE), 3: ("unit_strindex", "int")}
DICTIONARY = {1: ("mapping_table", [OTLP_MAPPING]), 2: ("location_table", [OTLP_LOCATION]),
              3: ("function_table", [OTLP_FUNCTION]), 4: ("link_table", [LINK]),
              5: ("string_table", ["string"]), 6: ("attribute_table", [ATTRIBUTE]),
              7: ("stack_table", [STACK])}
OTLP = {1: ("resource_profiles", [RESOURCE_PROFILES]), 2: ("dictionary", DICTIONARY)}
