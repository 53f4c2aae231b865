build-san/lib/proc/object.o: lib/proc/object.c lib/base/hash.h \
 lib/proc/object.h lib/elf/elf_file.h lib/proc/object_open.h \
 lib/proc/proc_fs.h
lib/base/hash.h:
lib/proc/object.h:
lib/elf/elf_file.h:
lib/proc/object_open.h:
lib/proc/proc_fs.h:
