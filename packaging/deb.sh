#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes a Debian package of what `make install` installs: packaging/deb.sh BUILD-FOLDER VERSION
#
# The programs are those of the build, so a package takes seconds; its dependencies are derived from
# them. The service is installed, but neither enabled nor started: profiling a whole machine is its
# owner's decision (systemctl enable --now stackd).
set -eu
cd "$(dirname "$0")/.."
build=$1 version=$2-1
epoch=${SOURCE_DATE_EPOCH:-$(date -r CHANGELOG.md +%s)}
maintainer="${DEBFULLNAME:-stackd maintainers} <${DEBEMAIL:-maintainers@stackd.invalid}>"
name=stackd
work=$build/deb
root=$PWD/$work/root
architecture=$(dpkg --print-architecture)
umask 022

rm -rf "$work" "$build/$name"_*.deb
mkdir -p "$root/DEBIAN" "$work/debian"
make -s B="$build" install DESTDIR="$root" PREFIX=/usr >/dev/null

# --- as Debian wants its files
doc=$root/usr/share/doc/$name
lib=$root/usr/lib/$(gcc -print-multiarch)
mkdir -p "$doc" "$lib/pkgconfig"
mv "$root"/usr/lib/lib* "$lib"
mv "$root"/usr/lib/pkgconfig/*.pc "$lib/pkgconfig"
rmdir "$root/usr/lib/pkgconfig"
sed -i "s|^libdir=.*|libdir=${lib#"$root"}|" "$lib"/pkgconfig/*.pc
strip --strip-unneeded --remove-section=.comment --remove-section=.note \
    "$root/usr/bin/stackctl" "$root/usr/sbin/stackd" "$lib"/lib*.so.1
strip --strip-unneeded "$root"/usr/lib/stackd/*.so
for program in "$root"/usr/bin/stackctl-mpi.*; do # where `make mpi` has made any
    [ ! -f "$program" ] || strip --strip-unneeded --remove-section=.comment --remove-section=.note "$program"
done
strip --strip-debug --enable-deterministic-archives "$lib"/lib*.a
gzip -9n "$root"/usr/share/man/man[178]/*
gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
printf '%s (%s) unstable; urgency=low\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$name" "$version" \
    "$maintainer" "$(date -R -d "@$epoch")" | gzip -9n >"$doc/changelog.Debian.gz"

# Debian has the texts of licences in the file copyright alone.
rm -r "$doc/LICENSES"
sed -i 's|(LICENSES)|(copyright)|' "$doc/README.md"
cat >"$doc/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: stackd

Files: *
Copyright: the authors of stackd
License: MIT
$(sed 's/^$/./; s/^/ /' LICENSES/MIT.txt)

Files: bpf/* arch/*.bpf.h arch/*/*.bpf.h
Copyright: the authors of stackd
License: GPL-2.0-only
 On Debian systems, the text of the licence is in /usr/share/common-licenses/GPL-2.
END

# --- dependencies and description
printf 'Source: %s\nMaintainer: %s\n\nPackage: %s\nArchitecture: any\n' \
    "$name" "$maintainer" "$name" >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -S"$root" \
    "$root/usr/bin/stackctl" "$root/usr/sbin/stackd" "$lib"/lib*.so.1 \
    "$root/usr/lib/stackd/libstackalloc.so" "$root/usr/lib/stackd/libstackmpi.so" \
    "$root/usr/lib/stackd/libstackregion.so" 2>/dev/null |
    sed -n 's/^shlibs:Depends=//p')
# The MPI that a launcher has started a job with is there; the others are not needed.
suggests=$(cd "$work" && find "$root/usr/bin" -name 'stackctl-mpi.*' -exec dpkg-shlibdeps -O --ignore-missing-info \
    -S"$root" {} + 2>/dev/null | sed -n 's/^shlibs:Depends=//p' | tr ',' '\n' | grep -oE 'lib(openmpi|mpich)[0-9a-z]*' |
    sort -u | sed 's/^/, /' | tr -d '\n')
[ -n "$depends" ] || { echo 'deb.sh: dpkg-shlibdeps found no dependencies' >&2; exit 1; }
for library in "$lib"/lib*.so.1; do
    printf '%s 1 stackd (>= %s)\n' "$(basename "$library" .so.1)" "${version%-*}"
done >"$root/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
cat >"$root/DEBIAN/control" <<END
Package: $name
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Recommends: libdebuginfod1, libcurl4t64 | libcurl4 | libcurl3t64-gnutls | libcurl3-gnutls
Suggests: gcc-$(gcc -dumpversion | cut -d. -f1)$suggests
Section: devel
Priority: optional
Description: kernel-assisted call-path profiler
 stackd samples running programs in the kernel and keeps, for every sample, the
 whole call path that led to it, without frame pointers, in a few bytes.
 stackctl shows what was kept: as reports, as a flame graph, and in the formats
 of pprof, speedscope, KCachegrind, Perfetto and Firefox's profiler.
 .
 With it come a library and a plugin for GCC by which a program keeps the tag of
 its own call path, and a library to preload that samples allocations.
END

# --- the service: registered with systemd on installation, removed completely on purge
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && ! getent group stackd >/dev/null; then
    groupadd --system stackd
fi
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    systemctl try-restart stackd.service stackd-push.service >/dev/null || true
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl --system disable --now stackd.service stackd-push.service stackd-metrics.timer >/dev/null 2>&1 || true
fi
END
cat >"$root/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ]; then
    rm -f /var/lib/prometheus/node-exporter/stackd.prom
elif [ "$1" = purge ]; then
    rm -rf /var/lib/stackd
    rm -f /etc/systemd/system/multi-user.target.wants/stackd.service \
        /etc/systemd/system/multi-user.target.wants/stackd-push.service \
        /etc/systemd/system/timers.target.wants/stackd-metrics.timer
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
END
chmod 0755 "$root"/DEBIAN/postinst "$root"/DEBIAN/prerm "$root"/DEBIAN/postrm
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | LC_ALL=C sort | xargs md5sum) \
    >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$epoch" -exec touch -hd "@$epoch" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$build/${name}_${version}_$architecture.deb"
