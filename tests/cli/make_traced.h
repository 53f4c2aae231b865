/* SPDX-License-Identifier: MIT */
/* Nested instances, counters and samples in threads of several processes, of which every time is
 * known: a part of make_store.c, whose functions it uses. */
#ifndef MAKE_TRACED_H
#define MAKE_TRACED_H

struct traced {
	struct recording *r;
	bool has_samples;
	struct traced_thread {
		uint32_t number;
		uint16_t cpu;
		bool falls;	  /* its variable does */
		uint64_t last[2]; /* readings */
	} a, b;
};

/* A counter at so many microseconds: CPU time, and a variable. */
static uint64_t traced_value(const struct traced_thread *t, unsigned counter, uint64_t us)
{
	if (counter == 0)
		return us * 900;
	return t->falls ? 1000000 - us : us * us / 1000;
}

static void traced_record(struct traced *f, const struct traced_thread *t, unsigned series,
			  uint32_t leaf, uint64_t us, uint64_t value)
{
	struct store_sample s = {.time_ns = 1000000000 + us * 1000,
				 .period = value,
				 .thread = t->number,
				 .node = leaf,
				 .cpu = t->cpu,
				 .end_reason = STACKD_END_ENTRY};

	f->r->info.end_ns = s.time_ns;
	put_record(f->r, (enum metric_series)series, &s);
}

static void traced_read(struct traced *f, struct traced_thread *t, uint32_t leaf, uint64_t us)
{
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t value = traced_value(t, i, us);

		traced_record(f, t, SERIES_READING + i, leaf, us,
			      t->last[0] ? value - t->last[i] : 0);
		t->last[i] = value;
	}
}

static void traced_sample(struct traced *f, struct traced_thread *t, uint32_t leaf, uint64_t us)
{
	if (!f->has_samples)
		return;
	traced_record(f, t, SERIES_CPU, leaf, us, 1000000);
	traced_read(f, t, leaf, us);
}

/* An instance, of which others within it took a part. */
static void traced_instance(struct traced *f, struct traced_thread *t, uint32_t leaf, uint64_t from,
			    uint64_t to, uint64_t nested)
{
	traced_record(f, t, SERIES_REGION_TIME, leaf, to, (to - from - nested) * 1000);
	if (nested)
		traced_record(f, t, SERIES_REGION_NESTED_TIME, leaf, to, nested * 1000);
	traced_read(f, t, leaf, to);
	for (unsigned i = 0; i < 2; i++)
		traced_record(f, t, SERIES_PASSED + i, leaf, to,
			      traced_value(t, i, to) - traced_value(t, i, from));
}

static void make_trace(struct recording *r, bool has_samples)
{
	struct traced f = {.r = r, .has_samples = has_samples};
	uint32_t prog = add_object(r, OBJECT_ELF, "/usr/bin/a (b), c");
	uint32_t in_main = add_node(r, 0, function(r, prog, 0x1000, "main"));
	uint32_t outer = add_node(r, in_main, function(r, prog, 0x2000, "outer\n2:1:1:1:1:0:1:1"));
	uint32_t again = add_node(r, outer, function(r, prog, 0x2000, "outer\n2:1:1:1:1:0:1:1"));
	uint32_t leaf = add_node(r, again, function(r, prog, 0x3000, "EVENT_TYPE"));
	uint32_t other = add_node(r, in_main, function(r, prog, 0x4000, " \303\251 [x] 'y'"));
	struct traced_thread c = {.cpu = 1};

	thread(r, 7, "idle");
	f.a = (struct traced_thread){.number = thread(r, 12, "a\nLEVEL"), .cpu = 0};
	f.b = (struct traced_thread){.number = thread(r, 99, ""), .cpu = 5, .falls = true};
	c.number = add_thread(r, 1, 13, "c");
	traced_sample(&f, &f.a, in_main, 1000);
	traced_sample(&f, &f.a, outer, 15000);
	if (has_samples)
		traced_record(&f, &c, SERIES_CPU, other, 20000, 1000000);
	traced_instance(&f, &f.b, other, 5000, 25000, 0);
	traced_sample(&f, &f.b, other, 30000);
	traced_sample(&f, &f.a, leaf, 35000);
	traced_instance(&f, &f.a, leaf, 30000, 40000, 0);
	traced_instance(&f, &f.b, other, 25000, 45000, 0);
	traced_instance(&f, &f.a, leaf, 40000, 50000, 0);
	traced_instance(&f, &f.a, leaf, 55000, 55000, 0);
	traced_sample(&f, &f.a, again, 58000);
	traced_instance(&f, &f.a, again, 20000, 60000, 20000);
	traced_sample(&f, &f.a, outer, 70000);
	traced_instance(&f, &f.a, outer, 10000, 90000, 40000);
	add_counter(r, "counter.0.cpu", 1);
	add_counter(r, "counter.1.var:it's `a` \303\251\n7 1 x", 1);
}

static void make_traced(struct recording *r)
{
	make_trace(r, true);
}

static void make_instances(struct recording *r)
{
	make_trace(r, false);
}

#endif
