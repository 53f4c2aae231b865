# SPDX-License-Identifier: MIT
"""The modules of the page that `stackctl web` serves (web/): their unit tests, their types, and eslint's
opinion of them."""

import os

from common import ROOT, exports, node, npm, run


@exports
def test_web_units():
    folder = os.path.join(ROOT, "tests", "web")
    tests = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".test.mjs"))
    print(run(node(), "--test", *tests))


@exports
def test_web_types():
    compiler = os.path.join(npm("typescript"), "bin", "tsc")
    print(run(node(), compiler, "-p", os.path.join(ROOT, "tests", "web", "tsconfig.json")))


@exports
def test_web_lint():
    eslint = os.path.join(npm("eslint"), "bin", "eslint.js")
    print(run(node(), eslint, "-c", os.path.join(ROOT, "tests", "web", "eslint.config.mjs"), "--max-warnings", "0",
              os.path.join(ROOT, "web"), cwd=ROOT))
