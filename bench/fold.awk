# SPDX-License-Identifier: MIT
# The text of `perf script -F comm,ip,sym` to folded stacks: what a flame graph is drawn from.
/^[^ \t]/ { comm = $1; stack = ""; next }
NF { name = $2; stack = stack == "" ? name : name ";" stack; next }
stack != "" { count[comm ";" stack]++; stack = "" }
END { for (s in count) print s, count[s] }
