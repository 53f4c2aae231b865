build-san/lib/walk/dwarf_expr.o: lib/walk/dwarf_expr.c \
 lib/walk/dwarf_expr.h bpf/stackd_abi.h
lib/walk/dwarf_expr.h:
bpf/stackd_abi.h:
