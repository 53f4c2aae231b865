build-san/lib/proc/process_load.o: lib/proc/process_load.c \
 lib/proc/process_table.h lib/proc/mapping_set.h lib/proc/process.h \
 lib/proc/object.h lib/elf/elf_file.h lib/proc/proc_fs.h
lib/proc/process_table.h:
lib/proc/mapping_set.h:
lib/proc/process.h:
lib/proc/object.h:
lib/elf/elf_file.h:
lib/proc/proc_fs.h:
