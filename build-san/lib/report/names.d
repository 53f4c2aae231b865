build-san/lib/report/names.o: lib/report/names.c lib/report/names.h \
 lib/report/profile.h lib/store/store_reader.h lib/store/store.h \
 lib/stack/origin.h lib/proc/object.h lib/elf/elf_file.h \
 lib/report/index.h lib/report/strings.h lib/report/text.h lib/base/buf.h \
 lib/sym/demangle.h
lib/report/names.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/proc/object.h:
lib/elf/elf_file.h:
lib/report/index.h:
lib/report/strings.h:
lib/report/text.h:
lib/base/buf.h:
lib/sym/demangle.h:
