build-san/lib/report/report_stats.o: lib/report/report_stats.c \
 lib/report/index.h lib/report/report.h lib/report/profile.h \
 lib/store/store_reader.h lib/store/store.h lib/stack/origin.h \
 lib/report/report_header.h lib/report/text.h lib/base/buf.h \
 bpf/stackd_abi.h
lib/report/index.h:
lib/report/report.h:
lib/report/profile.h:
lib/store/store_reader.h:
lib/store/store.h:
lib/stack/origin.h:
lib/report/report_header.h:
lib/report/text.h:
lib/base/buf.h:
bpf/stackd_abi.h:
