build-san/lib/report/report_header.o: lib/report/report_header.c \
 lib/report/report_header.h lib/report/report.h lib/report/profile.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/report/text.h lib/base/buf.h bpf/stackd_abi.h
lib/report/report_header.h:
lib/report/report.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/text.h:
lib/base/buf.h:
bpf/stackd_abi.h:
