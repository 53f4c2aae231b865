build-san/tests/test_origin: tests/unit/test_origin.c lib/stack/origin.h
lib/stack/origin.h:
