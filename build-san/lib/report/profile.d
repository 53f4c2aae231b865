build-san/lib/report/profile.o: lib/report/profile.c lib/report/profile.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/report/index.h lib/report/names.h bpf/stackd_abi.h
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/index.h:
lib/report/names.h:
bpf/stackd_abi.h:
