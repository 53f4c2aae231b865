#!/bin/bash
# SPDX-License-Identifier: MIT
# The server of `stackctl web`: who is answered and who is not, errors, hostile names, many connections
# and slow readers, a store that is deleted or that only root may read. What answers contain is judged by
# tests/unit/test_web.c.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"
export no_proxy='*' NO_PROXY='*' # who has a proxy does not reach 127.0.0.1 by it

if ! "$stackctl" help | grep -q '^  web '; then
    echo 'built without libmicrohttpd'
    exit 77
fi
command -v curl >/dev/null || { echo 'no curl' && exit 77; }
store=$tmp/s.db
make_store "$store" small hostile

server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$tmp"' EXIT

serve() { # COMMAND...: begins it and waits for its link, of which $link, $port and $token are made
    rm -f "$tmp/link"
    "$@" >"$tmp/link" 2>"$tmp/log" </dev/null &
    server=$!
    until [ -s "$tmp/link" ]; do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.02
    done
    link=$(cat "$tmp/link")
    port=${link#http://127.0.0.1:} port=${port%%/*}
    token=${link%/} token=${token##*/}
}

ends() { # by SIGINT, with status 0, and nothing of it is left
    kill -INT "$server"
    wait "$server"
    status=$?
    [ "$status" = 0 ] || fail "status $status after SIGINT: $(cat "$tmp/log")"
    server=
}

get() { # STATUS ADDRESS CURL-OPTION...: the body is in $tmp/out
    local wanted=$1 address=$2 status
    shift 2
    status=$(curl -s -o "$tmp/out" -D "$tmp/head" -w '%{http_code}' "$@" "$address") || true
    [ "$status" = "$wanted" ] || fail "${address:0:200} $*: $status, not $wanted: $(head -c 300 "$tmp/out")"
}

serve "$stackctl" web --no-open -i "$store"
[[ $link =~ ^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/$ ]] || fail "link: $link"

# Who has the token, under one of the machine's own names.
get 200 "${link}api/recordings"
for header in 'Cache-Control: no-store' "Content-Security-Policy: default-src 'none'; script-src 'self'" \
    'X-Content-Type-Options: nosniff' 'Referrer-Policy: no-referrer' 'Content-Type: application/json'; do
    grep -q "^$header" "$tmp/head" || fail "no header $header: $(cat "$tmp/head")"
done
get 200 "${link}api/tree" -H "Host: localhost:$port"
get 200 "${link}api/tree" -H 'Host: localhost:8080'
get 200 "${link}api/tree" -I

# Nobody else: without the token or with a part of it, by another name, by another method.
for path in / /index.html /api/recordings "/$token" "/${token%?}/api/recordings" "/${token}0/api/recordings" \
    "/${token^^}x/" "//$token/api/recordings" "/x/../$token/api/recordings" "/$(tr 0-9a-f 1-9a-f0 <<<"$token")/api/live"; do
    get 403 "http://127.0.0.1:$port$path" --path-as-is
    [ "$(cat "$tmp/out")" = forbidden ] || fail "$path: $(cat "$tmp/out")"
done
for host in evil.example "evil.example:$port" 127.0.0.1.evil.example localhost.evil "127.0.0.1:$port.evil" 0.0.0.0; do
    get 403 "${link}api/recordings" -H "Host: $host"
done
get 403 "${link}api/recordings" -H 'Host:'
for hosts in '127.0.0.1\r\nHost: evil.example' 'evil.example\r\nHost: 127.0.0.1'; do # two names in one request
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /%s/api/live HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n' "$token" "$hosts" >&3
    read -r line <&3
    exec 3>&-
    [[ $line = *" 403 "* ]] || fail "hosts $hosts: $line"
done

# An address with a zero is not cut there.
get 404 "${link}app.js%00"
get 404 "${link}api/recordings%00.css"
get 400 "${link}api/tree?recording=1%002"
get 200 "${link}%61pp.js"
get 405 "${link}api/recordings" -X POST -d x
get 405 "${link}api/recordings" -X DELETE
# Of listening sockets with this port, those of the server: another program may have the port at another address.
listens=$(python3 - "$port" "$server" <<'PYTHON'
import glob, os, sys
port, server = sys.argv[1:]
try:
    own = {os.readlink(fd) for fd in glob.glob("/proc/%s/fd/*" % server)}
except PermissionError:
    own = set()
for list in "tcp", "tcp6":
    for line in open("/proc/net/" + list):
        part = line.split()
        if part[3] == "0A" and part[1].endswith(":%04X" % int(port)) and (not own or "socket:[%s]" % part[9] in own):
            print(part[1].split(":")[0] if list == "tcp" else "six")
PYTHON
)
[ "$listens" = 0100007F ] || fail "it listens on: $listens"

# The page: its files, and all of them as one, with a place for data.
get 200 "$link"
grep -q '<script type="application/json" id="data">null</script>' "$tmp/out" || fail "the page: $(head -c 300 "$tmp/out")"
grep -q modulepreload "$tmp/out" && fail 'the page asks for modules'
get 200 "${link}app.js"
[ "$(wc -c <"$tmp/out")" -gt 50000 ] || fail "app.js: $(head -c 300 "$tmp/out")"
grep -Eq '^(import|export) ' "$tmp/out" && fail "app.js is several: $(grep -E '^(import|export) ' "$tmp/out")"
get 200 "${link}style.css"
cmp -s web/style.css "$tmp/out" || fail style.css
get 200 "${link}one-file.html"
[ "$(grep -c '@DATA@' "$tmp/out")" = 1 ] || fail 'one-file.html has no place for data'
grep -Eq '^(import|export) |<link' "$tmp/out" && grep -v 'rel="icon"' "$tmp/out" | grep -Eq '^(import|export) |<link' &&
    fail "one-file.html is several: $(grep -E '^(import|export) |<link' "$tmp/out")"

# Files: no way out of the page's folder.
for path in ../../../etc/passwd ..%2f..%2fetc/passwd %2e%2e/etc/passwd .hidden a/.b /etc/passwd x.c; do
    get 404 "$link$path" --path-as-is
done

# Errors have a text and a remedy.
for question in nothing 'tree?x=1' 'tree?from=1&from=2' 'tree?recording=77' 'tree?metric=%00' 'tree?minimum=1e9' 'lanes?width=1' \
    'functions?limit=-1' 'tree?threads=%3Cscript%3E'; do
    curl -s -o "$tmp/out" "${link}api/$question"
    python3 -c 'import json, sys
answer = json.load(open(sys.argv[1]))
assert set(answer) == {"error", "remedy"} and all(answer.values()), answer' "$tmp/out" || fail "$question: $(cat "$tmp/out")"
done
get 400 "${link}api/tree?$(printf 'focus=a&%.0s' {1..300})"
get 414 "${link}api/tree?focus=$(head -c 100000 /dev/zero | tr '\0' a)"

# Names that try to break out of the page or of their line.
get 200 "${link}api/functions?recording=2"
! grep -q '[<[:cntrl:]]' <(tr -d '\n' <"$tmp/out") || fail "unsafe: $(cat "$tmp/out")"

# A question that is superseded ends; the newest one is answered.
get 200 "${link}api/tree" -H 'Stackd-Viewer: abc' -H 'Stackd-Generation: 7'
get 409 "${link}api/tree" -H 'Stackd-Viewer: abc' -H 'Stackd-Generation: 6'
get 200 "${link}api/tree" -H 'Stackd-Viewer: abd' -H 'Stackd-Generation: 6'
get 200 "${link}api/tree" -H 'Stackd-Viewer: abc' -H 'Stackd-Generation: 8'

# 1,000 connections that say nothing, some that say half of a request, some that read nothing, and random bytes:
# who has the token is still answered.
python3 - "$port" "$token" <<'PYTHON' || fail 'many connections'
import json, os, random, resource, socket, sys, urllib.request
port, token = int(sys.argv[1]), sys.argv[2]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(min(1000, most // 4))]
for i, connection in enumerate(idle[:300]):
    connection.sendall((b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\n")[i % 3])
slow = []
for _ in range(50):
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    reader.connect(("127.0.0.1", port))
    reader.sendall(b"GET /%s/one-file.html HTTP/1.1\r\nHost: localhost\r\n\r\n" % token.encode())
    slow.append(reader)
random.seed(1)
for _ in range(50):
    with socket.create_connection(("127.0.0.1", port)) as noise:
        try:
            noise.sendall(bytes(random.randrange(256) for _ in range(2000)))
        except OSError:
            pass # It has already been closed, which is allowed.
for _ in range(20):
    with urllib.request.urlopen("http://127.0.0.1:%d/%s/api/tree" % (port, token), timeout=600) as answer:
        assert json.load(answer)["total"] > 0
PYTHON
get 200 "${link}api/live"

# The store is deleted while it is shown.
rm "$store"*
get 410 "${link}api/tree"
get 410 "${link}api/recordings"
grep -q deleted "$tmp/out" || fail "deleted: $(cat "$tmp/out")"
ends

# Root opens a store that only root may read, and answers without root's rights; other users cannot read the memory or
# the descriptors of the server.
if [ "$(id -u)" = 0 ]; then
    rm -rf "$tmp/root"
    mkdir -m 700 "$tmp/root"
    make_store "$tmp/root/s.db" small
    for user in '' "$(id -u nobody)"; do
        serve env ${user:+SUDO_UID="$user"} "$stackctl" web --no-open -i "$tmp/root/s.db"
        get 200 "${link}api/tree"
        grep -q '"total":100,' "$tmp/out" || fail "as root: $(head -c 300 "$tmp/out")"
        awk '/^[UG]id:/ {for (i = 2; i <= 5; i++) if ($i == 0) exit 1} /^Cap(Prm|Eff|Inh|Amb):/ {if ($2 !~ /^0+$/) exit 1}
            /^NoNewPrivs:/ {if ($2 != 1) exit 1} /^Groups:/ {if (NF > 1) exit 1}' "/proc/$server/status" ||
            fail "rights: $(grep -E "^(.id|Cap|NoNew|Groups)" "/proc/$server/status")"
        # Neither another user, nor another program of the server's own user.
        for other in 2 "$(id -u nobody)"; do
            # shellcheck disable=SC2016 # for the inner shell
            seen=$(setpriv --reuid "$other" --regid "$other" --clear-groups sh -c 'for part in environ mem maps; do
                dd if="/proc/$1/$part" bs=1 count=1 2>/dev/null && echo "$part"; done; ls "/proc/$1/fd" 2>/dev/null
                curl -s "http://127.0.0.1:$2/"' sh "$server" "$port")
            [ "$seen" = forbidden ] || fail "user $other sees: $seen"
        done
        # What comes later is there as well.
        make_store "$tmp/root/s.db" after
        get 200 "${link}api/recordings"
        grep -q '"default":1,' "$tmp/out" && fail "a later recording: $(head -c 300 "$tmp/out")"
        ends
    done
    rm -rf "$tmp/root"
fi

# Folded passes, by the part of the build that can.
make_store "$tmp/fold.db" folded
if "$stackctl" --version | grep -q '^parts:.* fold'; then
    serve "$stackctl" web --no-open -i "$tmp/fold.db"
    get 200 "${link}api/fold"
    grep -q '"regions":\["inner","pass"\]' "$tmp/out" || fail "regions to fold: $(head -c 600 "$tmp/out")"
    get 404 "${link}api/fold?region=none"
    get 400 "${link}api/fold?region=pass&time=none"
    get 200 "${link}api/fold?region=pass"
    python3 - "$tmp/out" <<'PYTHON' || fail "fold: $(head -c 600 "$tmp/out")"
import json, sys
answer = json.load(open(sys.argv[1]))
assert answer["passes"] == 400 and len(json.dumps(answer)) < 300000
assert {"assemble", "solve", "output"} <= {routine["name"] for routine in answer["routines"]}
assert sum(routine["samples"] for routine in answer["routines"]) == answer["in_passes"]
assert all(sum(routine["columns"]) == routine["samples"] for routine in answer["routines"])
cells = [counter for counter in answer["counters"] if counter["name"] == "var:cells"][0]
assert abs(sum(cells["rate"]) / len(cells["rate"]) - 1) < 0.01, cells
assert abs(answer["phases"][0]["to"] - 0.25) < 0.05, answer["phases"]
PYTHON
    ends
fi

# Sums: what 'stackctl merge' wrote, which is read with the user's rights; and a server's database that is not there.
make_store "$tmp/sums.db" small after
for number in 1 2; do
    expect 0 "$stackctl" export --tags -i "$tmp/sums.db" --recording "$number" -o "$tmp/$number.tags"
done
expect 0 "$stackctl" merge "$tmp/1.tags" "$tmp/2.tags" -o "$tmp/sums.tags"
chmod 755 "$tmp"
chmod 644 "$tmp/sums.tags"
serve "$stackctl" web --no-open -i "$tmp/sums.tags"
get 200 "${link}api/recordings"
get 200 "${link}api/tree"
grep -q '"total":200,' "$tmp/out" || fail "sums: $(head -c 300 "$tmp/out")"
get 404 "${link}api/lanes"
get 404 "${link}api/wakers"
get 200 "${link}api/around?function=main"
ends
"$stackctl" --version | grep -q '^parts:.* servers' && expect 1 "$stackctl" web --no-open -i clickhouse://127.0.0.1:1/none --since 1h

# The browser is given a file that only the user can read, and not the link; the file is deleted at the end.
mkdir -m 755 "$tmp/bin"
chmod 755 "$tmp"
cat >"$tmp/bin/xdg-open" <<SCRIPT
#!/bin/sh
cp -a "\$1" "$tmp/seen/copy"
echo "\$1" >"$tmp/seen/new"
mv "$tmp/seen/new" "$tmp/seen/opened"
SCRIPT
chmod 755 "$tmp/bin/xdg-open"
mkdir -m 777 "$tmp/seen"
serve env DISPLAY=:9 PATH="$tmp/bin:$PATH" SUDO_UID=1 "$stackctl" web -i "$tmp/sums.db@1"
[[ $link =~ ^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/#recording=1$ ]] || fail "link: $link"
token=${link%/*} token=${token##*/}
until [ -e "$tmp/seen/opened" ]; do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.02
done
file=$(cat "$tmp/seen/opened")
[[ $file = /* && $file != *"$token"* ]] || fail "the browser was given $file"
[ "$(stat -c %a "$file" "$(dirname "$file")" | tr '\n' ' ')" = '600 700 ' ] || fail "others can read $file"
grep -qF "url=$link" "$tmp/seen/copy" || fail "the file: $(cat "$tmp/seen/copy")"
ends
[ ! -e "$(dirname "$file")" ] || fail "$file is left"

# Other programs of nobody could read that file, so there no browser is opened.
if [ "$(id -u)" = 0 ]; then
    serve env -u SUDO_UID -u PKEXEC_UID DISPLAY=:9 PATH="$tmp/bin:$PATH" "$stackctl" web -i "$tmp/sums.db"
    get 200 "${link}api/live"
    grep -qsF "$token" /tmp/stackctl-web-*/* && fail 'nobody can read the link'
    ends

    # A store on a read-only file system, where SQLite cannot make its files.
    mkdir "$tmp/fixed"
    cp "$tmp/sums.db" "$tmp/fixed/s.db"
    # shellcheck disable=SC2016 # for the inner shell
    if unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"' sh "$tmp/fixed" 2>/dev/null; then
        # shellcheck disable=SC2016 # for the inner shell
        serve unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"' sh "$tmp/fixed" \
            "$stackctl" web --no-open -i "$tmp/fixed/s.db"
        get 200 "${link}api/tree?recording=1"
        grep -q '"total":100,' "$tmp/out" || fail "read-only: $(head -c 300 "$tmp/out")"
        ends
    fi
fi

# What cannot be shown is said at once.
expect 2 "$stackctl" web --no-open -i "$tmp/none.db"
expect 2 "$stackctl" web --no-open -i "$tmp/sums.db@77"
expect 2 "$stackctl" web --no-open -i "$tmp/sums.db" --since 1h
says '--since and --metric'
expect 2 "$stackctl" web --no-open --port 70000
says "--port: '70000' is not a number"
finish
