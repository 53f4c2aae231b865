# SPDX-License-Identifier: MIT
"""Reads pprof's format, as far as tests need it: paths with functions, files and lines."""

import gzip


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _fields(data):
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def _numbers(value):
    if isinstance(value, int):
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers


def read(path):
    """For each sample of a file its frames, leaf first, as (function, file, line), and its count."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    samples, lines, functions, strings = [], {}, {}, []
    for number, value in _fields(data):
        if number == 2:
            ids = [i for n, v in _fields(value) if n == 1 for i in _numbers(v)]
            counts = [i for n, v in _fields(value) if n == 2 for i in _numbers(v)]
            samples.append((ids, counts[0]))
        elif number == 4:
            fields = list(_fields(value))
            lines[dict(fields)[1]] = [dict(_fields(v)) for n, v in fields if n == 4]
        elif number == 5:
            function = dict(_fields(value))
            functions[function[1]] = function
        elif number == 6:
            strings.append(value.decode("utf-8", "replace"))
    for ids, count in samples:
        frames = []
        for line in (line for i in ids for line in lines[i]):
            function = functions[line[1]]
            frames.append((strings[function.get(2, 0)], strings[function.get(4, 0)], line.get(2, 0)))
        yield frames, count
