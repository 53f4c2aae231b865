#!/bin/bash
# SPDX-License-Identifier: MIT
# deps.sh, with package managers that only pretend: what is missing is installed, what cannot be had
# is named and keeps nothing else from being installed, and only what is required is an error.
# shellcheck disable=SC1091,SC2154 # what common gives
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
END

pretend() { # COMMAND: its script is standard input
    { echo '#!/bin/sh' && cat; } >"$bin/$1" && chmod +x "$bin/$1"
}

# What is offered and installed are files; what breaks cannot be installed.
manager() { # apt|dnf
    rm -f "$bin"/{apt-get,apt-cache,dpkg-query,dnf,rpm}
    if [ "$1" = apt ]; then
        pretend dpkg-query <<<"for name; do :; done; grep -qx \"\$name\" $tmp/installed && printf installed"
        pretend apt-cache <<<"echo \"\$2:\"; grep -qx \"\$2\" $tmp/offered && echo '  Candidate: 1' || echo '  Candidate: (none)'"
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

# Optional: everything else is installed, and it is named. Required: so, too, and it is an error.
offered lib-dev old-dev new-dev
deps 0 build
installed lib-dev old-dev
says 'goes without gcc-13-plugin-dev (the plugin): apt has no such package'
offered lib-dev gcc-13-plugin-dev test-dev
deps 1 build test
installed gcc-13-plugin-dev lib-dev test-dev
says 'apt has not: old-dev or new-dev (for writing)'

# One that does not install keeps nothing else out.
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

# Lists that cannot be brought up to date are said, and used.
offered lib-dev old-dev gcc-13-plugin-dev
echo 100 >"$bin/apt-get.update"
deps 0 build
says 'apt cannot bring its lists up to date'
installed gcc-13-plugin-dev lib-dev old-dev

# Who is not root is told what is missing; what is optional is no reason.
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

# No manager that is known: said, and the build goes on.
rm "$bin/dnf"
deps 0 build
says 'neither apt-get nor dnf is here'
finish
