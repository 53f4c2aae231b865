build-san/lib/proc/proc_fs.o: lib/proc/proc_fs.c lib/proc/proc_fs.h
lib/proc/proc_fs.h:
