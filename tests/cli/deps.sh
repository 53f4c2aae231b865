#!/bin/bash
# SPDX-License-Identifier: MIT
# deps.sh, with fake package managers: missing packages are installed; unavailable ones are named, do
# not prevent the installation of others, and are an error only if required.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

bin=$tmp/bin
mkdir -p "$bin"
for command in sh sed grep cut tr dirname; do
    ln -s "$(command -v "$command")" "$bin/$command"
done
cp deps.sh "$tmp/deps.sh"
cat >"$tmp/packages.txt" <<'END'
# a comment
build     here        here-dev                  here-devel          a command that is there
build     -           lib-dev                   lib-devel           reading
build     -           old-dev|new-dev           -                   writing
build?    -           gcc-@GCC@-plugin-dev      gcc-plugin-devel    the plugin
test      -           test-dev                  test-devel          tests
extra?    -           one-dev                   one-devel           ones
extra?    -           two-dev                   two-devel           twos
END

pretend() { # COMMAND: its script is standard input
    { echo '#!/bin/sh' && cat; } >"$bin/$1" && chmod +x "$bin/$1"
}

# The packages that are available, installed, and broken are files.
manager() { # apt|dnf
    rm -f "$bin"/{apt-get,apt-cache,dpkg-query,dnf,rpm}
    if [ "$1" = apt ]; then
        pretend dpkg-query <<<"for name; do :; done; grep -qx \"\$name\" $tmp/installed && printf installed"
        pretend apt-cache <<<"shift; for name; do echo \"\$name:\"; echo '  Installed: (none)'; grep -qx \"\$name\" $tmp/offered && echo '  Candidate: 1' || echo '  Candidate: (none)'; done"
        pretend apt-get <<<". $tmp/install"
    else
        pretend rpm <<<"grep -qx \"\$4\" $tmp/installed"
        pretend dnf <<<"[ \"\$2\" = repoquery ] || . $tmp/install; grep -x \"\$4\" $tmp/offered"
    fi
}

cat >"$tmp/install" <<'END'
for name; do
    case $name in update | makecache) exit "$(cat "$0.update")" ;; esac
done
for name; do
    ! grep -qx "$name" "${0%/bin/*}/broken" || { echo "$name has unmet dependencies" >&2; exit 100; }
done
for name; do
    ! grep -qx "$name" "${0%/bin/*}/offered" || echo "$name" >>"${0%/bin/*}/installed"
done
exit 0
END
ln -s "$(command -v cat)" "$bin/cat"

offered() { # PACKAGE...: nothing is installed yet
    printf '%s\n' "$@" >"$tmp/offered"
    : >"$tmp/installed"
    : >"$tmp/broken"
    echo 0 | tee "$bin/apt-get.update" >"$bin/dnf.update"
}
installed() { # PACKAGE...: just these
    [ "$(sort "$tmp/installed" | tr '\n' ' ')" = "$*${*:+ }" ] ||
        fail "installed '$(tr '\n' ' ' <"$tmp/installed")', not '$*'"
}
deps() { # STATUS GROUP...
    local wanted=$1
    shift
    expect "$wanted" env PATH="$bin" "$tmp/deps.sh" "$@"
}

pretend here <<<'exit 0'
pretend gcc <<<'echo 13.2.0'
pretend id <<<'echo 0'
manager apt

offered lib-dev new-dev gcc-12-plugin-dev gcc-13-plugin-dev test-dev
deps 0 build
installed gcc-13-plugin-dev lib-dev new-dev
deps 0 build
cat "$tmp/out" "$tmp/err" | grep -q . && fail "says something where all is there"

# An unavailable package is named and the others are installed; if it is required, that is an error.
offered lib-dev old-dev new-dev
deps 0 build
installed lib-dev old-dev
says 'goes without gcc-13-plugin-dev (the plugin): apt has no such package'
offered lib-dev gcc-13-plugin-dev test-dev
deps 1 build test
installed gcc-13-plugin-dev lib-dev test-dev
says 'apt has not: old-dev or new-dev (for writing)'

# A package that fails to install does not prevent the others.
offered lib-dev old-dev gcc-13-plugin-dev
echo lib-dev >"$tmp/broken"
deps 1 build
installed gcc-13-plugin-dev old-dev
says 'apt has not: lib-dev (does not install)'
echo gcc-13-plugin-dev >"$tmp/broken"
offered lib-dev old-dev gcc-13-plugin-dev
echo gcc-13-plugin-dev >"$tmp/broken"
deps 0 build
installed lib-dev old-dev
says 'goes without gcc-13-plugin-dev (the plugin): apt could not install it'

offered one-dev two-dev
deps 0 extra
installed one-dev two-dev
grep -qx 'installing: one-dev two-dev' "$tmp/out" || fail 'optional packages are not installed together'
offered one-dev two-dev
echo one-dev >"$tmp/broken"
deps 0 extra
installed two-dev
says 'goes without one-dev (ones): apt could not install it'

# Lists that cannot be updated are reported, and used.
offered lib-dev old-dev gcc-13-plugin-dev
echo 100 >"$bin/apt-get.update"
deps 0 build
says 'apt cannot bring its lists up to date'
installed gcc-13-plugin-dev lib-dev old-dev

# Without root, the missing required packages are named; optional ones are no error.
pretend id <<<'echo 1000'
offered lib-dev old-dev
deps 4 build
says 'needs root to install lib-dev, old-dev or new-dev, by: sudo make deps'
echo lib-dev >"$tmp/installed" && echo new-dev >>"$tmp/installed"
deps 0 build
pretend id <<<'echo 0'

deps 2 nonsense
says "no group 'nonsense'"
deps 2

manager dnf
offered lib-devel gcc-plugin-devel test-devel
deps 0 test
installed test-devel
deps 1 build
installed gcc-plugin-devel lib-devel test-devel
says 'dnf has not: - (for writing)'

# An unknown package manager is reported, and the build continues.
rm "$bin/dnf"
deps 0 build
says 'neither apt-get nor dnf is here'
finish
