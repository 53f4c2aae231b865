# SPDX-License-Identifier: MIT
"""What documents promise is there: files and headings that links lead to, verbs and options of commands, a paragraph for
each end reason, and each document in the index.

Usage: documents.py STACKCTL STACKD
"""

import glob
import re
import shlex
import subprocess
import sys

PAGES = ["README.md", "CONTRIBUTING.md", *sorted(glob.glob("docs/**/*.md", recursive=True))]
FAULTS = []


def fault(page, *words):
    FAULTS.append("%s: %s" % (page, " ".join(map(str, words))))


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors(path):
    """The anchors of a page's headings, as web pages of repositories make them."""
    headings = re.findall(r"^#+ (.*)$", text_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def check_links(page):
    folder = page.rpartition("/")[0]
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text_of(page))):
        if re.match(r"[a-z]+://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        parts = []
        for part in ((folder + "/" if folder and path else "") + (path or page)).split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        path = "/".join(parts)
        if not glob.glob(path or "."):
            fault(page, "no such file:", target)
        elif anchor and anchor not in anchors(path):
            fault(page, "no such heading:", target)


def options_of(manual):
    """The long and the short options of a manual page. groff writes hyphens of options as `\\-`."""
    text = manual.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*|-[a-zA-Z?])", text))


def check_command(page, command, known):
    """That a command's verb and options exist. What is behind `--` is another program's."""
    command = re.sub(r"\s+#.*", "", command)
    command = re.split(r"\s(?:&&|\||;|>)\s?", command)[0]
    try:
        words = shlex.split(command)
    except ValueError:
        return 0  # prose that has a quotation mark in it
    program, words = words[0], words[1:]
    if program == "stackctl":
        if not words or not re.fullmatch(r"[a-z-]+", words[0]):
            return 0
        program, words = "stackctl " + words[0], words[1:]
    if program not in known:
        fault(page, "no such verb:", command)
        return 1
    for word in words:
        if word == "--":
            break
        option = re.match(r"--[a-z][a-z0-9-]*", word)
        if option and option[0] not in known[program]:
            fault(page, "no such option:", option[0], "in", command)
    return 1


def check_commands(page, known):
    text = text_of(page)
    blocks = re.findall(r"^ {4}(?:\$ )?(.*)$", text, re.MULTILINE)
    spans = [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", text)]
    starts = re.compile(r"(?:sudo )?((?:stackd|stackctl)(?: .*|$))")
    found = [match[1] for match in map(starts.match, blocks + spans) if match]
    return sum(check_command(page, command.replace("\\|", "|"), known) for command in found)


def main(stackctl, stackd):
    run = lambda *words: subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout
    verbs = run(stackctl, "help", "--verbs").split()
    known = {"stackctl " + verb: options_of(run(stackctl, "help", "--man", verb)) for verb in verbs}
    known["stackctl help"] = {"--man", "--verbs"}
    known["stackctl version"] = set()
    known["stackd"] = options_of(run(stackd, "--man"))
    # What perf's users type is answered, though not listed (docs/PERF.md).
    for perf in ("record", "script"):
        known["stackctl " + perf] = known["stackd"] | known["stackctl export"]
    known["stackctl report"] |= {"--no-children", "--children", "--call-graph"}
    commands = sum(check_commands(page, known) for page in PAGES)
    for page in PAGES:
        check_links(page)
    marks = text_of("docs/MARKS.md")
    for name in re.findall(r'^\s+X\([A-Z_]+, "([a-z_]+)", (?:COMPLETE|PARTIAL|LOST)', text_of("bpf/stackd_abi.h"), re.MULTILINE):
        if "`%s`" % name not in marks:
            fault("docs/MARKS.md", "nothing about", name)
    index = text_of("docs/README.md")
    for page in PAGES:
        name = page.removeprefix("docs/")
        if page.startswith("docs/") and "/" not in name and name != "README.md" and "](%s)" % name not in index:
            fault("docs/README.md", "does not list", name)
    lines = text_of("README.md").count("\n")
    if lines > 200:
        fault("README.md", lines, "lines, of 200 at most")
    print(*FAULTS, sep="\n")
    print("%d commands of %d pages" % (commands, len(PAGES)))
    return bool(FAULTS) or commands < 50


sys.exit(main(*sys.argv[1:]))
