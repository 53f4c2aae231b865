/* SPDX-License-Identifier: MIT */
/* Mappings that have not had their turn, and keys of files that have not been met. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "daemon/recorder/file_key.h"
#include "daemon/recorder/new_mappings.h"

/* The last mapping at an address counts, of this process and from this offset alone. */
static void test_last_mapping(void **state)
{
	static struct new_mappings m;
	const struct object a = {.number = 1}, b = {.number = 2};
	struct object_mapping at = {.start = 0x7000, .end = 0x9000, .offset = 0x1000};

	(void)state;
	assert_null(new_mappings_find(&m, 5, 0x7000, 0x1000));
	new_mappings_add(&m, 5, &at, &a);
	assert_ptr_equal(new_mappings_find(&m, 5, 0x7000, 0x1000), &a);
	assert_null(new_mappings_find(&m, 6, 0x7000, 0x1000));
	assert_null(new_mappings_find(&m, 5, 0x8000, 0x1000));
	assert_null(new_mappings_find(&m, 5, 0x7000, 0x2000));
	new_mappings_add(&m, 5, &at, &b);
	assert_ptr_equal(new_mappings_find(&m, 5, 0x7000, 0x1000), &b);
}

/* Whatever is kept of very many, it is what was added. */
static void test_many_mappings(void **state)
{
	static struct new_mappings m;
	static struct object objects[4 * NEW_MAPPINGS_KEPT];
	size_t found = 0;

	(void)state;
	for (uint64_t i = 0; i < 4 * NEW_MAPPINGS_KEPT; i++) {
		const struct object_mapping at = {.start = 0x1000 * i, .offset = i};

		new_mappings_add(&m, (pid_t)(i % 7 + 1), &at, &objects[i]);
	}
	for (uint64_t i = 0; i < 4 * NEW_MAPPINGS_KEPT; i++) {
		const struct object *object =
			new_mappings_find(&m, (pid_t)(i % 7 + 1), 0x1000 * i, i);

		assert_true(!object || object == &objects[i]);
		found += object != NULL;
	}
	assert_in_range(found, 1, NEW_MAPPINGS_KEPT);
}

static struct elf_file *open_self(struct stat *ret_st, int *ret_fd)
{
	struct elf_file *elf;

	*ret_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(*ret_fd, ret_st), 0);
	assert_int_equal(elf_file_open(*ret_fd, &elf), 0);
	return elf;
}

/* A key has the file's numbers, or there is none: of a filesystem without a device, or of a file
 * that is closed. */
static void test_key(void **state)
{
	struct stackd_inode key = {0};
	struct stat st;
	int fd, generation;
	struct elf_file *elf = open_self(&st, &fd);
	const struct object object = {.elf = elf};
	struct fuse_devices devices = {0};
	bool has = file_key_of(&object, &devices, &key);

	(void)state;
	if (major(st.st_dev) &&
	    !fuse_devices_may_have(&devices, "/proc/self/mountinfo", st.st_dev) &&
	    !ioctl(fd, FS_IOC_GETVERSION, &generation)) {
		assert_true(has);
		assert_true(key.inode == st.st_ino);
		assert_true(key.changed_ns == (uint64_t)elf_stamp_of(&st).ctime_ns);
		assert_int_equal(key.dev >> 20, major(st.st_dev));
		assert_int_equal(key.dev & 0xfffff, minor(st.st_dev));
		assert_int_equal(key.generation, (uint32_t)generation);
	} else {
		assert_false(has);
	}
	elf_file_close(elf);
	assert_false(file_key_of(&object, &devices, &key));
	fuse_devices_fini(&devices);
	elf_file_free(elf);
	close(fd);
}

/* A filesystem on a block device can be a program's, and one that is not mounted here may be. */
static void test_fuse(void **state)
{
	static const char mounts[] =
		"36 35 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"37 35 8:2 / /mnt/ntfs rw master:1 - fuseblk /dev/sda2 rw\n"
		"38 35 8:2 /a /mnt/fuse\\040-\\040ext4 rw - fuseblk /dev/sda2 rw\n"
		"39 35 0:40 / /mnt/ssh rw - fuse.sshfs host: rw\n"
		"40 35 8:18 / /fuse rw - xfs fuse rw\n";
	struct fuse_devices devices = {0};
	char path[] = "/tmp/stackd-mounts-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, mounts, sizeof(mounts) - 1), sizeof(mounts) - 1);
	close(fd);
	assert_false(fuse_devices_may_have(&devices, path, makedev(8, 1)));
	assert_true(fuse_devices_may_have(&devices, path, makedev(8, 2)));
	assert_true(fuse_devices_may_have(&devices, path, makedev(0, 40)));
	assert_false(fuse_devices_may_have(&devices, path, makedev(8, 18)));
	assert_true(fuse_devices_may_have(&devices, path, makedev(8, 3)));
	unlink(path);
	assert_false(fuse_devices_may_have(&devices, path, makedev(8, 1))); /* it is known */
	assert_true(fuse_devices_may_have(&devices, path, makedev(8, 4)));
	fuse_devices_fini(&devices);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_mapping),
		cmocka_unit_test(test_many_mappings),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_fuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
