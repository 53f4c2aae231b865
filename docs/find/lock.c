/* SPDX-License-Identifier: MIT */
/* A cache that four workers read under a lock, and a thread that fills it anew under the same lock.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_done;
static volatile long cache[1024];

static void load_table(void)
{
	usleep(20000); /* reads a file over the network, say */
	for (int i = 0; i < 1024; i++)
		cache[i]++;
}

static void *refresh_cache(void *unused)
{
	pthread_setname_np(pthread_self(), "refresher");
	while (!is_done) {
		pthread_mutex_lock(&cache_lock);
		load_table();
		pthread_mutex_unlock(&cache_lock);
		usleep(5000);
	}
	return unused;
}

static long look_up(int key)
{
	pthread_mutex_lock(&cache_lock);
	long value = cache[key % 1024];
	pthread_mutex_unlock(&cache_lock);
	return value;
}

static void *serve_requests(void *unused)
{
	pthread_setname_np(pthread_self(), "worker");
	volatile long sum = 0;
	for (int i = 0; i < 60; i++) {
		sum += look_up(i);
		usleep(1000); /* waits for the next request */
	}
	return unused;
}

int main(void)
{
	pthread_t refresher, workers[4];
	pthread_create(&refresher, NULL, refresh_cache, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&workers[i], NULL, serve_requests, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(workers[i], NULL);
	is_done = true;
	pthread_join(refresher, NULL);
	return 0;
}
