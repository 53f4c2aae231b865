#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that the GCC plugin has instrumented: on every way into and out of functions (calls, tail
# calls, exceptions, longjmp) the tag is that of the path, computed as docs/TAGS.md specifies, and the
# in-process decoder names it; and the plugin's options, valid and invalid.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/stacktag_common"
plugin=$build/stacktag.so
option=-fplugin-arg-stacktag
[ -e "$plugin" ] || { echo "no GCC plugin headers here (gcc-N-plugin-dev)"; exit 77; }
compile "$tmp/expect.o" gcc -DCOMPUTED -Ilibstacktag -c "$sources/expect.c"

tagged() { # OUTPUT COMPILER ARGUMENTS...
    local output=$1 compiler=$2
    shift 2
    compile "$output" "$compiler" "-fplugin=$plugin" "$@" "$tmp/expect.o" "${library[@]}"
}

# --- ways in and out; -Og and -O0 lay functions out in other ways
for level in -O2 -O0 -Og '-O3 -fno-plt' '-O2 -flto'; do
    # shellcheck disable=SC2086
    tagged "$tmp/ways" gcc "$sources"/ways.c ${level/-O2/}
    passes "$tmp/ways" "ways.c $level"
done
tagged "$tmp/ways" gcc -no-pie -fno-pie "$sources"/ways.c
passes "$tmp/ways" "ways.c, not position-independent"
for level in '' -O0 -Og; do
    # shellcheck disable=SC2086
    tagged "$tmp/ways" g++ "$sources"/ways.cc $level
    passes "$tmp/ways" "ways.cc $level"
done
compile "$tmp/libways.so" gcc "-fplugin=$plugin" -shared -fPIC -Dmain=library \
    '-DMAIN="main;library"' "$sources"/ways.c -Ilibstacktag
printf 'int library(void);\nvolatile int none;\nint main(void) { return library() + none; }\n' >"$tmp/main.c"
tagged "$tmp/ways" gcc "$tmp/main.c" "$tmp/libways.so" -Wl,--export-dynamic -Wl,-rpath,"$tmp"
passes "$tmp/ways" "ways.c in a library"

# --- functions that are left out. The part of a path for: the leaf, the small function, ...
left_out() { # LEAF SMALL INNER SKIPPED SKIPPED2 BEGUN ARGUMENTS...
    tagged "$tmp/left_out" gcc -DLEAF="\"$1\"" -DSMALL="\"$2\"" -DINNER="\"$3\"" -DSKIPPED="\"$4\"" \
        -DSKIPPED2="\"$5\"" -DBEGUN="\"$6\"" "${@:7}" "$sources"/left_out.c
    passes "$tmp/left_out" "left_out.c ${*:7}"
}
all=(';leaf' ';small' ';inner' ';skipped;skipped_jump' ';skipped')
left_out "${all[@]}" 'main;begun'
left_out '' "${all[@]:1}" 'main;begun' $option-leaves=no
left_out "${all[@]}" 'main;begun' $option-leaves=yes
left_out "${all[@]:0:3}" '' '' 'main;begun' "$option-exclude=skip*"
left_out ';leaf' '' '' '' '' 'main;begun' "$option-exclude=skip*" $option-exclude=small $option-exclude=inner
left_out "${all[@]}" 'begun' "$option-root=beg?n"
left_out '' '' '' '' '' 'main' $option-min-size=15
left_out "${all[@]}" 'main;begun' $option-min-size=2 "$option-exclude-file=*/other.c"

# --- a file that is left out keeps no tag at all
tagged "$tmp/none" gcc "$option-exclude-file=*/left_out.c" -DLEAF='""' -DSMALL='""' -DINNER='""' \
    -DSKIPPED='""' -DSKIPPED2='""' -DBEGUN='""' "$sources"/left_out.c
expect 1 "$tmp/none"
shows "expected 'main': not decoded: No data available"

# --- wrong options
wrong() { # OPTION: is refused, with what there is
    if gcc "-fplugin=$plugin" "$1" -c -o "$tmp/none.o" "$sources"/finish.c -Ilibstacktag 2>"$tmp/err"; then
        fail "$1 is accepted"
    fi
    grep -q "the stacktag plugin has no option" "$tmp/err" || fail "$1: $(head -n 3 "$tmp/err")"
}
wrong $option-leaf=no
wrong $option-leaves=maybe
wrong $option-leaves
wrong $option-min-size=many
wrong $option-min-size=-1
wrong $option-min-size=99999999
wrong $option-exclude
finish
