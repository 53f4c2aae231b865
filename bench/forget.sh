#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures what stackd keeps in memory of a long recording (forget.c): forget.sh quick|full
set -eu
cd "$(dirname "$0")/.."
times=$([ "$1" = quick ] && echo 1 || echo 10)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
build/bench/forget "$folder/paths.db" paths "${times}000000" || status=1
build/bench/forget "$folder/samples.db" samples "${times}0000000" || status=1
exit $status
