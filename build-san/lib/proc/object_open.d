build-san/lib/proc/object_open.o: lib/proc/object_open.c \
 lib/proc/object_open.h lib/proc/object.h lib/elf/elf_file.h \
 lib/proc/proc_fs.h
lib/proc/object_open.h:
lib/proc/object.h:
lib/elf/elf_file.h:
lib/proc/proc_fs.h:
