build-san/lib/export/export_tags.o: lib/export/export_tags.c \
 lib/export/export.h lib/report/profile.h lib/store/store_reader.h \
 lib/store/store.h lib/stack/origin.h lib/proc/object.h \
 lib/elf/elf_file.h lib/report/index.h lib/report/text.h lib/base/buf.h \
 lib/stack/location.h lib/base/hash.h
lib/export/export.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/proc/object.h:
lib/elf/elf_file.h:
lib/report/index.h:
lib/report/text.h:
lib/base/buf.h:
lib/stack/location.h:
lib/base/hash.h:
