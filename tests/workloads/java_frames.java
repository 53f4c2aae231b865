// SPDX-License-Identifier: MIT
/* Frames of every kind that HotSpot has, for as many seconds of the main thread's CPU time as the argument
 * says: interpreted and compiled methods, one within the other as they are compiled; small methods that are hit at their
 * first and last instructions; recursion, lambdas, exceptions, monitors, and the class library. */
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

class java_frames {
	interface Operation {
		int apply(int x);
	}

	static int mix(int x)
	{
		for (int i = 0; i < 40; i++)
			x = x * 31 + (x >>> 7);
		return x;
	}

	static int tiny(int x)
	{
		return (x ^ 0x5bd1e995) * 3;
	}

	static synchronized int locked(int x)
	{
		return mix(x);
	}

	static int recurse(int depth, int x)
	{
		if (depth > 0)
			return recurse(depth - 1, x + depth) + tiny(x);
		for (int i = 0; i < 50; i++)
			x += mix(x) + tiny(x);
		return x;
	}

	static int fail(int depth)
	{
		if (depth == 0)
			throw new IllegalStateException("at the bottom");
		return fail(depth - 1) + 1;
	}

	static int exceptions(int x)
	{
		for (int i = 0; i < 20; i++) {
			try {
				x += fail(i);
			} catch (IllegalStateException e) {
				x += e.getMessage().length();
			}
		}
		return x;
	}

	static int lambdas(int x)
	{
		final int seed = x;
		Operation[] operations = {a -> a + seed, a -> mix(a), a -> tiny(a) * seed,
					  java_frames::tiny, java_frames::locked};

		for (int i = 0; i < 100; i++)
			x = operations[i % operations.length].apply(x);
		return x;
	}

	static int library(int x)
	{
		StringBuilder text = new StringBuilder();
		Map<String, Integer> words = new HashMap<>();

		for (int i = 0; i < 60; i++)
			text.append(i * x).append(',');
		for (String word : text.toString().split(","))
			words.merge(word, 1, Integer::sum);
		return new ArrayList<>(new TreeMap<>(words).values())
			.stream()
			.mapToInt(i -> i)
			.sum();
	}

	public static void main(String[] arguments)
	{
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long end = threads.getCurrentThreadCpuTime() + (long)(Double.parseDouble(arguments[0]) * 1e9);
		int x = 1;

		while (threads.getCurrentThreadCpuTime() < end) {
			for (int i = 0; i < 30; i++)
				x += recurse(10 + i * 7 % 90, x);
			x += exceptions(x) + lambdas(x) + library(x) + locked(x);
		}
		System.out.println(x);
	}
}
