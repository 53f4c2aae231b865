/* SPDX-License-Identifier: MIT */
/*
 * Regions that a program names itself, for `stackd --annotated -- COMMAND`: each pass is counted,
 * with its wall and CPU time and its whole call path, in which the name stands as a function.
 *
 *   void step(void)
 *   {
 *           STACKD_REGION("time step");        // from here to the end of the block
 *           ...
 *           STACKD_REGION_BEGIN("halo");       // or from here
 *           exchange();
 *           STACKD_REGION_END("halo");         // to there, in the same thread
 *   }
 *
 * Regions may lie within each other; a region that is ended takes those with it that were begun
 * within it and not ended. In C++, and in C that is compiled with -fexceptions, an exception ends
 * STACKD_REGION(), too; longjmp() does not.
 *
 * A name is a string literal of letters, digits, blanks and any of . : _ - + / ( ) #. It is kept as
 * a symbol of the file, so `strip` removes it. There is no library to link: the program has a weak
 * symbol, which stackd defines by a library that it preloads. Without stackd, a region costs the
 * look at a pointer. In static programs, and on other processors than x86-64, regions do nothing.
 */
#ifndef STACKD_REGION_H
#define STACKD_REGION_H

#if defined(__x86_64__) && defined(__ELF__) && defined(__LP64__)

/* Sets `to` to the address that stands for a name: a symbol, which a file has once. Its code, a
 * return, says how the caller of such a function is found. */
#define STACKD_REGION_ADDRESS(to, name)                                                            \
	__asm__(".ifndef \"stackd_region." name "\"\n\t"                                           \
		".pushsection \".text.stackd_region." name "\",\"axG\",@progbits,"                 \
		"\"stackd_region." name "\",comdat\n\t"                                            \
		".weak \"stackd_region." name "\"\n\t"                                             \
		".hidden \"stackd_region." name "\"\n\t"                                           \
		".type \"stackd_region." name "\", @function\n"                                    \
		"\"stackd_region." name "\":\n\t"                                                  \
		"ret\n\t"                                                                          \
		".size \"stackd_region." name "\", 1\n\t"                                          \
		".asciz \"" name "\"\n\t" /* so that linkers do not fold two names */              \
		".popsection\n\t"                                                                  \
		".endif\n\t"                                                                       \
		"leaq \"stackd_region." name "\"(%%rip), %0"                                       \
		: "=r"(to))

/* Calls a function of the preloaded library, if it is there. */
#define STACKD_REGION_CALL(function, region)                                                       \
	do {                                                                                       \
		void (*stackd_call)(const void *);                                                 \
		__asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0"            \
			: "=r"(stackd_call));                                                      \
		if (__builtin_expect(stackd_call != 0, 0))                                         \
			stackd_call(region);                                                       \
		__asm__ volatile(""); /* keeps the call from becoming a jump */                    \
	} while (0)

#define STACKD_REGION_BEGIN(name)                                                                  \
	do {                                                                                       \
		const void *stackd_name;                                                           \
		STACKD_REGION_ADDRESS(stackd_name, name);                                          \
		STACKD_REGION_CALL(stackd_region_enter, stackd_name);                              \
	} while (0)

#define STACKD_REGION_END(name)                                                                    \
	do {                                                                                       \
		const void *stackd_name;                                                           \
		STACKD_REGION_ADDRESS(stackd_name, name);                                          \
		STACKD_REGION_CALL(stackd_region_leave, stackd_name);                              \
	} while (0)

#else

#define STACKD_REGION_ADDRESS(to, name)	     ((to) = (name))
#define STACKD_REGION_CALL(function, region) ((void)(region))
#define STACKD_REGION_BEGIN(name)	     ((void)(name))
#define STACKD_REGION_END(name)		     ((void)(name))

#endif

#define STACKD_REGION_JOIN(a, b)   a##b
#define STACKD_REGION_UNIQUE(a, b) STACKD_REGION_JOIN(a, b)

#ifdef __cplusplus

/* Ends its region when it goes. */
struct stackd_region_scope {
	/* Takes the address that stands for the name of a region, which has begun. */
	explicit stackd_region_scope(const void *its_name) : name(its_name)
	{
	}
	/* Ends it. */
	~stackd_region_scope()
	{
		STACKD_REGION_CALL(stackd_region_leave, name);
	}
	/* It cannot be copied. */
	stackd_region_scope(const stackd_region_scope &) = delete;
	stackd_region_scope &operator=(const stackd_region_scope &) = delete;
	const void *name;
};

#define STACKD_REGION_AS(its_name, variable)                                                       \
	const void *STACKD_REGION_UNIQUE(variable, _name);                                         \
	STACKD_REGION_ADDRESS(STACKD_REGION_UNIQUE(variable, _name), its_name);                    \
	STACKD_REGION_CALL(stackd_region_enter, STACKD_REGION_UNIQUE(variable, _name));            \
	stackd_region_scope variable(STACKD_REGION_UNIQUE(variable, _name))

#else

/* Ends a region when its variable goes. */
static inline __attribute__((always_inline)) void stackd_region_end_scope(const void **name)
{
	STACKD_REGION_CALL(stackd_region_leave, *name);
}

#define STACKD_REGION_AS(its_name, variable)                                                       \
	__attribute__((cleanup(stackd_region_end_scope))) const void *variable;                    \
	STACKD_REGION_ADDRESS(variable, its_name);                                                 \
	STACKD_REGION_CALL(stackd_region_enter, variable)

#endif

#define STACKD_REGION(name) STACKD_REGION_AS(name, STACKD_REGION_UNIQUE(stackd_region_, __LINE__))

#endif
