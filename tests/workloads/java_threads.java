/* SPDX-License-Identifier: MIT */
/* Virtual threads, and threads that wait: java java_threads FILE (21 or later). It ends when the file is there.
 *
 * Half of the virtual threads call leaf() without ever leaving their carrier. The others park below 150 calls of deep(): when
 * they go on, only the innermost frames are copied back to the stack. Each of the other threads waits in one way, in a method of
 * its own, which has the thread's name. */
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

class java_threads {
	static final int DEPTH = 150;
	static final Object monitor = new Object(), signal = new Object();
	static final ReentrantLock lock = new ReentrantLock();
	static volatile boolean done;
	static volatile long sink;

	static int leaf(int x) {
		for (int i = 0; i < 3; i++)
			x += new Throwable().hashCode() & 1;
		return x;
	}

	static int work(int x) {
		int sum = 0;
		for (int i = 0; i < 100; i++)
			sum += leaf(x);
		return sum;
	}

	static int deep(int x, int n) {
		if (n > 1)
			return deep(x, n - 1) + 1;
		LockSupport.parkNanos(1000);
		return work(x) + 1;
	}

	static int parted(int x) {
		return deep(x, DEPTH) + 1;
	}

	static int mounted(int x) {
		return work(x) + 1;
	}

	static void parks() {
		LockSupport.parkNanos(10_000_000);
	}

	static void sleeps() throws Exception {
		Thread.sleep(10);
	}

	static void waits() throws Exception {
		synchronized (signal) {
			signal.wait(10);
		}
	}

	static void enters() {
		synchronized (monitor) {
			sink++;
		}
	}

	static void locks() {
		lock.lock();
		lock.unlock();
	}

	static void holds() throws Exception {
		synchronized (monitor) {
			lock.lock();
			Thread.sleep(10);
			lock.unlock();
		}
		Thread.sleep(1);
	}

	interface Body {
		void run() throws Exception;
	}

	static Thread start(Thread.Builder builder, String name, Body body) {
		return builder.name(name).start(() -> {
			try {
				while (!done)
					body.run();
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
		});
	}

	public static void main(String[] arguments) throws Exception {
		Thread[] all = {
			start(Thread.ofVirtual(), "mounted", () -> sink += mounted((int)sink)),
			start(Thread.ofVirtual(), "parted", () -> sink += parted((int)sink)),
			start(Thread.ofPlatform(), "parks", java_threads::parks),
			start(Thread.ofPlatform(), "sleeps", java_threads::sleeps),
			start(Thread.ofPlatform(), "waits", java_threads::waits),
			start(Thread.ofPlatform(), "enters", java_threads::enters),
			start(Thread.ofPlatform(), "locks", java_threads::locks),
			start(Thread.ofPlatform(), "holds", java_threads::holds),
		};
		while (!Files.exists(Path.of(arguments[0])))
			Thread.sleep(20);
		done = true;
		for (Thread t : all)
			t.join();
	}
}
