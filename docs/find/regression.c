/* SPDX-License-Identifier: MIT */
/* Counts words. Built with -DNEW, it is the next version, which compares more than it must. */
#include <stdio.h>
#include <string.h>

enum { WORDS = 512 };
static char words[WORDS][16];
static unsigned counts[WORDS];
static volatile unsigned sink;

static __attribute__((noinline)) unsigned hash(const char *word)
{
	unsigned h = 5381;
	for (; *word; word++)
		h = h * 33 + (unsigned char)*word;
	return h;
}

static __attribute__((noinline)) int find(const char *word)
{
	int start = hash(word) % WORDS;
#ifdef NEW
	start = 0; /* the change: "the table is small, search it from its beginning" */
#endif
	for (int i = start; i < WORDS; i++)
		if (!strcmp(words[i], word))
			return i;
	for (int i = 0; i < start; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

static __attribute__((noinline)) void tidy(void)
{
	for (int i = 0; i < 10000000; i++)
		sink += i;
}

int main(void)
{
	char word[16];
	for (int i = 0; i < WORDS; i++) {
		snprintf(word, sizeof(word), "word%d", i);
		int at = hash(word) % WORDS;
		while (words[at][0])
			at = (at + 1) % WORDS;
		strcpy(words[at], word);
	}
	for (int round = 0; round < 1500000; round++) {
		snprintf(word, sizeof(word), "word%d", round % WORDS);
		counts[find(word)]++;
	}
	for (int i = 0; i < 10; i++)
		tidy();
	return 0;
}
