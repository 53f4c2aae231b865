/* SPDX-License-Identifier: MIT */
/* Parses moments; see wall_time.h. */
#include "base/wall_time.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

bool wall_time_is(const char *text)
{
	return isalpha((unsigned char)*text) || strchr(text, ':') ||
	       (strspn(text, "0123456789") == 4 && text[4] == '-');
}

/* Converts a moment of local time to unix time. If the clock shows it twice, `second` chooses the
 * later one. Returns -ERANGE if the clock skips it. */
static int to_unix(const struct tm *wanted, bool second, uint64_t *ret_unix_ns)
{
	time_t found = -1;

	/* Tries standard and summer time: mktime() changes the hour of a moment that does not exist
	 * in the one tried. */
	for (int i = 0; i < 2; i++) {
		struct tm tm = *wanted;
		time_t at;

		tm.tm_isdst = i;
		at = mktime(&tm);
		if (at >= 0 && tm.tm_hour == wanted->tm_hour && tm.tm_min == wanted->tm_min)
			found = found < 0 || (at < found) != second ? at : found;
	}
	if (found < 0)
		return -ERANGE;
	*ret_unix_ns = (uint64_t)found * SECOND_NS;
	return 0;
}

/* Parses a number of up to `digits` digits. Returns what follows it; NULL if there is no digit, or
 * the number is above `most`. */
static const char *number(const char *text, int digits, int most, int *ret_value)
{
	int value = 0, n = 0;

	for (; n < digits && isdigit((unsigned char)text[n]); n++)
		value = value * 10 + (text[n] - '0');
	*ret_value = value;
	return n && value <= most ? text + n : NULL;
}

/* Parses HH:MM or HH:MM:SS, to the end of the text. */
static bool time_of_day(const char *text, struct tm *tm)
{
	text = number(text, 2, 23, &tm->tm_hour);
	if (!text || *text != ':')
		return false;
	text = number(text + 1, 2, 59, &tm->tm_min);
	if (text && *text == ':')
		text = number(text + 1, 2, 59, &tm->tm_sec);
	return text && !*text;
}

/* Parses a date. Returns what follows it; NULL if there is none. */
static const char *date(const char *text, struct tm *tm)
{
	struct tm known;
	int year, month, day;

	text = number(text, 4, 9999, &year);
	if (!text || *text != '-' || year < 1970)
		return NULL;
	text = number(text + 1, 2, 12, &month);
	if (!text || *text != '-')
		return NULL;
	text = number(text + 1, 2, 31, &day);
	tm->tm_year = year - 1900;
	tm->tm_mon = month - 1;
	tm->tm_mday = day;
	known = *tm;
	known.tm_hour = 12;
	known.tm_isdst = -1;
	/* The 31st of a shorter month is another day. */
	return text && mktime(&known) != -1 && known.tm_mday == day && known.tm_mon == month - 1
		       ? text
		       : NULL;
}

/* Parses "today" or "yesterday". Returns what follows it; NULL if the text begins with neither. */
static const char *day_name(const char *text, struct tm *today)
{
	static const char names[][10] = {"today", "yesterday"};

	for (int i = 0; i < 2; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(text, names[i], len) != 0)
			continue;
		today->tm_mday -= i;
		today->tm_hour = 12;
		today->tm_isdst = -1;
		mktime(today); /* normalises the date: the day before the first of a month */
		today->tm_hour = 0;
		return text + len;
	}
	return NULL;
}

/* Finds the last occurrence of a time of day until `now_ns`, or its first after `after_ns` if that
 * is not 0. */
static int find_time_of_day(const struct tm *today, uint64_t now_ns, uint64_t after_ns,
			    uint64_t *ret_unix_ns)
{
	int err;

	for (int i = 0; i < 3; i++) {
		struct tm tm = *today, noon = *today;

		noon.tm_hour = 12;
		noon.tm_isdst = -1;
		noon.tm_mday += after_ns ? i - 1 : 1 - i;
		mktime(&noon);
		tm.tm_year = noon.tm_year;
		tm.tm_mon = noon.tm_mon;
		tm.tm_mday = noon.tm_mday;
		err = to_unix(&tm, after_ns != 0, ret_unix_ns);
		if (err && i)
			return err;
		if (!err && (after_ns ? *ret_unix_ns > after_ns : *ret_unix_ns <= now_ns))
			return 0;
	}
	return -ERANGE;
}

int wall_time_parse(const char *text, uint64_t now_ns, uint64_t after_ns, uint64_t *ret_unix_ns)
{
	time_t base = (time_t)((after_ns ? after_ns : now_ns) / SECOND_NS);
	struct tm today, tm = {0};
	const char *rest;

	if (strcmp(text, "now") == 0) {
		*ret_unix_ns = now_ns;
		return 0;
	}
	if (time_of_day(text, &tm)) {
		if (!localtime_r(&base, &today))
			return -EINVAL;
		tm.tm_year = today.tm_year;
		tm.tm_mon = today.tm_mon;
		tm.tm_mday = today.tm_mday;
		return find_time_of_day(&tm, now_ns, after_ns, ret_unix_ns);
	}
	base = (time_t)(now_ns / SECOND_NS);
	if (!localtime_r(&base, &today))
		return -EINVAL;
	tm = (struct tm){
		.tm_year = today.tm_year, .tm_mon = today.tm_mon, .tm_mday = today.tm_mday};
	rest = day_name(text, &tm);
	if (!rest)
		rest = date(text, &tm);
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	if (!rest || (*rest && ((*rest != ' ' && *rest != 'T') || !time_of_day(rest + 1, &tm))))
		return -EINVAL;
	return to_unix(&tm, after_ns != 0, ret_unix_ns);
}
