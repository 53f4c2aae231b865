build-san/lib/walk/cfi_check.o: lib/walk/cfi_check.c lib/walk/cfi_check.h
lib/walk/cfi_check.h:
