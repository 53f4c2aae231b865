#!/bin/bash
# SPDX-License-Identifier: MIT
# What documents promise is there: links, verbs, options, a paragraph for each end reason.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

stackd=${STACKD:-$(dirname "$stackctl")/stackd}
python3 tests/cli/documents.py "$stackctl" "$stackd" || fail 'documents'
finish
