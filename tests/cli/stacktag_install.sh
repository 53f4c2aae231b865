#!/bin/bash
# SPDX-License-Identifier: MIT
# make install, and building programs that keep tags with what it has installed, by pkg-config.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/stacktag_common"
prefix=$tmp/usr
make -s B="$build" PREFIX="$prefix" install >"$tmp/log" 2>&1 || fail "make install: $(tail "$tmp/log")"
for file in sbin/stackd bin/stackctl include/stacktag.h include/stacktag_decode.h \
    lib/libstacktag.a lib/libstacktag.so lib/libstacktag.so.1 lib/libstacktag-decode.so \
    lib/libstacktag-decode.so.1 lib/pkgconfig/stacktag.pc lib/pkgconfig/stacktag-decode.pc \
    share/man/man1/stackctl.1 share/man/man8/stackd.8 share/bash-completion/completions/stackctl \
    lib/systemd/system/stackd.service lib/stackd/libstackalloc.so lib/stackd/libstackmpi.so \
    lib/stackd/libstackregion.so include/stackd_region.h; do
    [ -s "$prefix/$file" ] || fail "$file is not installed"
done
expect 0 "$prefix/bin/stackctl" help
expect 0 "$prefix/sbin/stackd" --version
grep -rlF @PREFIX@ "$prefix" && fail "@PREFIX@ is left"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib
flags() { # PACKAGES...
    pkg-config --cflags --libs "$@" 2>"$tmp/err" || fail "pkg-config $*: $(cat "$tmp/err")"
}
# shellcheck disable=SC2046
compile "$tmp/expect.o" gcc -c "$sources"/expect.c $(pkg-config --cflags stacktag-decode)
# shellcheck disable=SC2046
compile "$tmp/ways" gcc -finstrument-functions -DFUNCTIONS "$sources"/ways.c "$tmp/expect.o" \
    $(flags stacktag-decode)
passes "$tmp/ways" "-finstrument-functions"
# shellcheck disable=SC2046
compile "$tmp/static" gcc -finstrument-functions -DFUNCTIONS "$sources"/ways.c "$tmp/expect.o" \
    "$prefix/lib/libstacktag.a" $(pkg-config --cflags stacktag-decode) -L"$prefix/lib" \
    -lstacktag-decode -Wl,--export-dynamic
passes "$tmp/static" "the static library"
if [ -e "$build/stacktag.so" ]; then
    [ -s "$prefix/lib/stackd/stacktag.so" ] || fail "the plugin is not installed"
    # shellcheck disable=SC2046
    compile "$tmp/ways" gcc "$sources"/ways.c "$tmp/expect.o" $(flags stacktag-gcc stacktag-decode)
    passes "$tmp/ways" "the plugin"
fi

# staged, as packagers do it: nothing else is written, and paths are those of the prefix
make -s B="$build" PREFIX=/usr DESTDIR="$tmp/stage" install >"$tmp/log" 2>&1 ||
    fail "make install DESTDIR: $(tail "$tmp/log")"
[ "$(ls "$tmp/stage")" = usr ] || fail "staged: $(ls "$tmp/stage")"
grep -q '^prefix=/usr$' "$tmp/stage/usr/lib/pkgconfig/stacktag.pc" || fail "the staged prefix"
grep -rlF "$tmp" "$tmp/stage" --include='*.pc' --include='*.service' && fail "the stage is named"
finish
