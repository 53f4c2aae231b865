#!/bin/bash
# SPDX-License-Identifier: MIT
# The filters that all verbs share: they leave the same samples everywhere, and invalid ones are
# errors.
# shellcheck disable=SC1091,SC2154 # set by tests/cli/common
. "$(dirname "$0")/common"

store=$tmp/s.db
make_store "$store" small

left 100
left 80 --pid 12
left 61 --symbol 'app::work'
left 71 --symbol 'app::*' --symbol fact
left 10 --focus main --symbol fact
left 30 --ignore 'app::work()' --focus main --ignore 'libx*'
left 9 --dso libx.so
left 20 --dso '[kernel*'
left 1 --focus '[incomplete*'
left 50 --to 50.15045ms
left 50 --from 0.05015045
left 10 --from 50ms --to 60.18s --symbol fact --comm prog --no-comm --comm prog
left 100 --max-depth 1 --fold-recursion
left 10 --symbol fact --fold-recursion
expect 0 "$stackctl" export --folded -i "$store" --symbol fact --fold-recursion
[ "$(cat "$tmp/out")" = 'prog;_start;main;fact 10' ] || fail "folded: $(cat "$tmp/out")"
expect 0 "$stackctl" export --folded -i "$store" --symbol fact --max-depth 2
[ "$(cat "$tmp/out")" = 'prog;_start;main 10' ] || fail "cut: $(cat "$tmp/out")"

# --- filters without samples, and invalid filters
expect 3 "$stackctl" report -i "$store" --symbol wrk
says "did you mean 'app::work()'"
expect 3 "$stackctl" report -i "$store" --focus factt
says "did you mean 'fact'"
expect 3 "$stackctl" report -i "$store" --dso nothing
says "'stackctl report' shows which there are"
expect 3 "$stackctl" report -i "$store" --from 1h
for bad in '--from x' '--from -1' '--to 0' '--to 1parsec' '--from 2 --to 1' '--from 1e300' '--from nan' \
    '--max-depth 0' '--max-depth x' '--symbol=' '--focus='; do
    # shellcheck disable=SC2086
    expect 2 "$stackctl" report -i "$store" $bad
done
finish
