build-san/lib/walk/call_site.o: lib/walk/call_site.c lib/walk/call_site.h
lib/walk/call_site.h:
