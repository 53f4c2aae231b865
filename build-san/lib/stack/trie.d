build-san/lib/stack/trie.o: lib/stack/trie.c lib/stack/trie.h \
 lib/base/hash.h lib/stack/slots.h
lib/stack/trie.h:
lib/base/hash.h:
lib/stack/slots.h:
