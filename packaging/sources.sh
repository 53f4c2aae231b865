#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the names of the project's files, also outside of a clone, or in another user's clone:
# packaging/sources.sh [PATTERN]...
cd "$(dirname "$0")/.." || exit 1
[ $# != 0 ] || set -- '*'
{
    git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" 2>/dev/null ||
        for pattern; do find . -path ./build -prune -o -path "./$pattern" ! -type d -print; done
} | while IFS= read -r file; do
    [ ! -e "$file" ] || printf '%s\n' "${file#./}"
done
