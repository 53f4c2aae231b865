#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing of the named groups of packages.txt, by apt or dnf; says nothing if all
# is there. What cannot be had is named, and what it is needed for: it is an error unless it is
# optional, and keeps nothing else from being installed.
#
# Exit status: 0 all that is required is there; 1 something is not; 2 usage; 4 needs root.
# Usage: deps.sh GROUP...
set -u
cd "$(dirname "$0")" || exit 1
PATH=$PATH:/usr/sbin:/sbin # where bpftool lies, for users, too
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
tab=$(printf '\t')
lacks=''
candidates='' # of the packages that are missing, those that apt can install

warn() { echo "deps.sh: $*" >&2; }

# --- what the two package managers do --------------------------------------------------------

has() { # PACKAGE: is installed
    case $manager in
    apt) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    dnf) rpm -q --quiet --whatprovides "$1" 2>/dev/null ;;
    esac
}

offers() { # PACKAGE: can be had
    case $manager in
    apt) case " $candidates " in *" $1 "*) ;; *) return 1 ;; esac ;;
    dnf) [ -n "$(dnf -q repoquery --whatprovides "$1" 2>/dev/null)" ] ;;
    esac
}

# Once in a run of several calls, which $DEPS_UPDATED, the name of a file, tells of.
update() {
    [ ! -e "${DEPS_UPDATED:-/none}" ] || return 0
    case $manager in
    apt) apt-get update -qq ;;
    dnf) dnf -q makecache ;;
    esac || return
    [ -z "${DEPS_UPDATED:-}" ] || : >"$DEPS_UPDATED"
}

install() { # PACKAGE...: asks nothing, and reads nothing of what the caller reads
    case $manager in
    apt) apt-get install -y -qq --no-install-recommends "$@" ;;
    dnf) dnf -q -y install --setopt=install_weak_deps=False "$@" ;;
    esac >/dev/null </dev/null
}

# --- what is missing -------------------------------------------------------------------------

major() { "$1" -dumpversion 2>/dev/null | cut -d. -f1; } # COMPILER

# missing GROUP...: lines `GROUP NAMES WHAT`, tabs between them, of what the groups lack.
missing() {
    while read -r group command apt dnf what; do
        case " $* " in *" ${group%\?} "*) ;; *) continue ;; esac
        [ "$command" = - ] || ! command -v "$command" >/dev/null || continue
        names=$apt
        [ "$manager" = apt ] || names=$dnf
        here=''
        for name in $(names_of "$names"); do
            ! has "$name" || here=$name
        done
        [ -n "$here" ] || printf '%s\t%s\t%s\n' "$group" "$names" "$what"
    done <packages.txt
}

names_of() { # NAMES: those of a|b, with the versions of the compilers that are there
    case $1 in
    *@*) echo "$1" | sed "s/@GCC@/$(major gcc)/g; s/@CLANG@/$(major clang)/g; s/|/ /g" ;;
    *) echo "$1" | tr '|' ' ' ;;
    esac
}

spelled() { names_of "$1" | sed 's/ / or /g'; }

# Sets $candidates by one call of apt-cache, which takes half a second of a processor whatever it is asked.
# Virtual packages have no candidate.
look_up() { # LINES: of missing()
    [ "$manager" = apt ] || return 0
    names=$(printf '%s\n' "$1" | while IFS=$tab read -r _ names _; do
        [ -z "$names" ] || [ "$names" = - ] || names_of "$names"
    done)
    [ -n "$names" ] || return 0
    # shellcheck disable=SC2086 # a list of names
    candidates=$(apt-cache policy $names 2>/dev/null |
        sed -n '/^[^ ].*:$/{s/:$//;h;}; /^  Candidate:/{/(none)/!{g;p;};}' | tr '\n' ' ')
}

offered() { # NAMES: prints the first that is to be had
    for name in $(names_of "$1"); do
        ! offers "$name" || { echo "$name" && return; }
    done
    return 1
}

# --- installing it ---------------------------------------------------------------------------

install_required() { # LINES: together, or one by one if that fails; sets $lacks
    list=''
    while IFS=$tab read -r group names what; do
        case $group in *\? | '') continue ;; esac
        if name=$(offered "$names"); then
            case "$list " in *" $name "*) ;; *) list="$list $name" ;; esac
        else
            lacks="$lacks $(spelled "$names") (for $what),"
        fi
    done <<END
$1
END
    [ -n "$list" ] || return 0
    echo "installing:$list"
    # shellcheck disable=SC2086 # a list of names
    ! install $list || return 0
    for name in $list; do
        install "$name" || lacks="$lacks $name (does not install),"
    done
}

install_optional() { # LINES: together, or one by one if that fails, since each may
    list=''
    while IFS=$tab read -r group names what; do
        case $group in *\?) ;; *) continue ;; esac
        name=$(offered "$names") ||
            { warn "goes without $(spelled "$names") ($what): $manager has no such package" && continue; }
        case "$list " in *" $name "*) ;; *) has "$name" || list="$list $name" ;; esac
    done <<END
$1
END
    [ -n "$list" ] || return 0
    echo "installing:$list"
    # shellcheck disable=SC2086 # a list of names
    ! install $list || return 0
    while IFS=$tab read -r group names what; do
        case $group in *\?) ;; *) continue ;; esac
        name=$(offered "$names") || continue
        has "$name" || install "$name" ||
            warn "goes without $name ($what): $manager could not install it"
    done <<END
$1
END
}

[ $# != 0 ] || { echo 'usage: deps.sh GROUP...' >&2 && exit 2; }
for group; do
    grep -q "^$group?\{0,1\} " packages.txt ||
        { warn "no group '$group' in packages.txt" && exit 2; }
done
if command -v apt-get >/dev/null; then
    manager=apt
elif command -v dnf >/dev/null; then
    manager=dnf
else
    warn "neither apt-get nor dnf is here: what packages.txt lists for '$*' is to be installed by hand"
    exit 0
fi

lines=$(missing "$@")
[ -n "$lines" ] || exit 0
if [ "$(id -u)" != 0 ]; then
    names=$(echo "$lines" | grep -v '^[a-z]*?' | cut -f 2)
    [ -n "$names" ] || exit 0
    warn "needs root to install" "$(for name in $names; do printf "%s, " "$(spelled "$name")"; done)by: sudo make deps"
    exit 4
fi
update || warn "$manager cannot bring its lists up to date: goes on with those that are here"
look_up "$lines"
install_required "$lines"
lines=$(missing "$@") # now that the compilers are there, by their versions
look_up "$lines"
install_optional "$lines"
[ -n "$lacks" ] || exit 0
warn "$manager has not:${lacks%,}. Bring its lists and sources up to date, or install by hand"
exit 1
