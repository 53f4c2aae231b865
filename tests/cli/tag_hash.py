# SPDX-License-Identifier: MIT
"""The hash of tags, written from docs/TAGS.md alone."""

MASK = (1 << 64) - 1


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def location_id(object_id, offset):
    return mix((mix(object_id) + offset) & MASK)


def chain(tag, location):
    """The tag of a path that continues another one, whose tag is given, by a location's id."""
    return tag * 11 & MASK ^ location
