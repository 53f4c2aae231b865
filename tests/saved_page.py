# SPDX-License-Identifier: MIT
"""The data in a page that `stackctl flamegraph -o x.html` or `fold -o x.html` made, or that was saved
(docs/WEB.md, "One file")."""

import json


def data(path):
    """All of it: version, state, answers by question."""
    with open(path, encoding="utf-8") as file:
        return json.loads(file.read().split('id="data">')[1].split("</script>")[0])


def answer(path, name, part=""):
    """The first answer to a question of this name that has `part` in its parameters; None: there is none."""
    for question, found in data(path)["answers"].items():
        if question.split("?")[0] == name and part in question:
            return found
    return None


def paths(found, *columns):
    """The call paths of an answer with a tree, as {path: values of columns}; "other" is what is summed up."""
    nodes, frames, strings, lines, rows = found["nodes"], found["frames"], found["strings"], [], {}
    for i, (parent, frame) in enumerate(zip(nodes["parent"], nodes["frame"])):
        lines.append((lines[parent] if parent >= 0 else ()) + (strings[frames["name"][frame]],))
        rows[lines[-1][1:]] = tuple(nodes[column][i] for column in columns)
    return rows


def tree(path):
    """The call paths of a page, as {path: total}."""
    return {line: total for line, (total,) in paths(answer(path, "tree"), "total").items()}
