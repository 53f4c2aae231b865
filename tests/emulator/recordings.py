#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings of branch records by real hardware, for the tests that read them: recordings.py PERFPARSER PERF_DATA_CONVERTER

They are test data of two other projects, whose clones are the arguments, and no part of this one. Those that the tests
know, by their SHA-256, go to ../shared/lbr beside this checkout, where lbr-recorded, cli-import_shared,
test_import_shared and test_perfdata_shared look for them; without them these tests are skipped."""

import hashlib
import os
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(os.path.dirname(ROOT), "shared", "lbr")

# name here: (which clone, path in it, SHA-256). A .zlib file is a length of four bytes and a stream.
FILES = {
    "kdab-call-stack.perf.data": (0, "tests/auto/perfdata/vector_static_gcc/perf.lbr.data.zlib",
                                  "864b8e3ca55f8185cb9158963542ccaadf0999af68581d38ea47a84cd357d300"),
    "kdab-dwarf.perf.data": (0, "tests/auto/perfdata/vector_static_gcc/perf.data.zlib",
                             "1d0aaf3d4f18c5bad70f9d25e1eee76c1084a8d6019cd49aec23162ba3a59d24"),
    "quipper-branch-4.14.perf.data": (1, "src/quipper/testdata/perf.data.branch-4.14",
                                      "836ed3e00ab02eddf56616a5973de5a94557e7b42939c6dc32761a5d45b51062"),
    "quipper-branch-hw-index.perf.data": (1, "src/quipper/testdata/perf.data.branch_stack_hw_index",
                                          "f2dca14e995d93f77791c51efb4e5944a0fe7abe66a93460417fa0697562cb93"),
    "quipper-callgraph-branch-3.4.perf.data": (1, "src/quipper/testdata/perf.data.callgraph_and_branch-3.4",
                                               "dff79428e2c7b40ea0dd34e08211265e311972b9de1efdeefc92e2594b0db749"),
}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.makedirs(FOLDER, exist_ok=True)
    for name, (clone, path, digest) in FILES.items():
        with open(os.path.join(sys.argv[1 + clone], path), "rb") as file:
            data = file.read()
        if path.endswith(".zlib"):
            data = zlib.decompress(data[4:])
        if hashlib.sha256(data).hexdigest() != digest:
            sys.exit("%s is not the file that the tests know" % path)
        with open(os.path.join(FOLDER, name), "wb") as file:
            file.write(data)
        print(os.path.join(FOLDER, name))


if __name__ == "__main__":
    main()
