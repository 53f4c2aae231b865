#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages of the named groups of packages.txt; says nothing if all are there.
# COMMAND=PACKAGE in a group is needed only where there is no such command, whoever it is from.
# Usage: deps.sh GROUP...
set -eu
cd "$(dirname "$0")"
missing=""
for group in "$@"; do
    packages=$(awk -v g="$group" '$1 == g { $1 = ""; print }' packages.txt)
    [ -n "$packages" ] || { echo "deps.sh: no group '$group' in packages.txt" >&2; exit 2; }
    for package in $packages; do
        case $package in *=*)
            ! command -v "${package%=*}" >/dev/null || continue
            package=${package#*=}
            ;;
        esac
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=absent
        [ "$status" = installed ] || missing="$missing $package"
    done
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
if [ "$(id -u)" != 0 ]; then
    echo "deps.sh: needs root to install them: sudo make deps" >&2
    exit 4
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list of names
apt-get install -y -qq --no-install-recommends $missing >/dev/null
