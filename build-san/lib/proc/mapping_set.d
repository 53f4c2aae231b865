build-san/lib/proc/mapping_set.o: lib/proc/mapping_set.c \
 lib/proc/mapping_set.h lib/proc/process.h lib/proc/object.h \
 lib/elf/elf_file.h
lib/proc/mapping_set.h:
lib/proc/process.h:
lib/proc/object.h:
lib/elf/elf_file.h:
