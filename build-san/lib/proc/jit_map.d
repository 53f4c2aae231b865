build-san/lib/proc/jit_map.o: lib/proc/jit_map.c lib/proc/jit_map.h \
 lib/proc/proc_fs.h
lib/proc/jit_map.h:
lib/proc/proc_fs.h:
