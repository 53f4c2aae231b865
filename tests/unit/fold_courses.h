/* SPDX-License-Identifier: MIT */
/* Courses of a phase from 0 to 1 that are neither straight, nor exponential, nor waves. */
#ifndef TESTS_UNIT_FOLD_COURSES_H
#define TESTS_UNIT_FOLD_COURSES_H

#include <math.h>

enum truth_course {
	TRUTH_NONE,
	TRUTH_LOGISTIC = -5, /* the rate goes from one to another by a logistic function */
	TRUTH_POWER,	     /* the rate is a power, t^-a, of the time since before the phase */
	TRUTH_TOOTH,	     /* the rate rises evenly */
	TRUTH_CHIRP,	     /* waves that become quicker */
	TRUTH_RELAXATION,    /* the rate decays to one that is not 0, or grows from it */
};

/* The integral of a logistic function, steep by `steep`, that goes from 1 + |steep| / 10 to 1. */
static inline double course_softplus(double t, double steep)
{
	return t +
	       fabs(steep) / 10 * (log1p(exp(steep * (t - .5))) - log1p(exp(-steep / 2))) / steep;
}

static inline double course_logistic(double t, double steep)
{
	return course_softplus(t, steep) / course_softplus(1, steep);
}

/* The rate is (t + 0.1)^-a; a is not 1. */
static inline double course_power(double t, double a)
{
	return (pow(t + .1, 1 - a) - pow(.1, 1 - a)) / (pow(1.1, 1 - a) - pow(.1, 1 - a));
}

/* The rate goes from 1 - slope to 1 + slope. */
static inline double course_tooth(double t, double slope)
{
	return t + slope * t * (t - 1);
}

static inline double course_chirp(double t, double depth)
{
	return t + depth * sin(2 * M_PI * (t + t * t)) / (6 * M_PI);
}

/* The rate is 1, and what decays (or grows) by exp(bend) is as much on average. */
static inline double course_relaxation(double t, double bend)
{
	return (t + expm1(bend * t) / expm1(bend)) / 2;
}

static inline double truth_course(enum truth_course course, double t, double parameter)
{
	switch (course) {
	case TRUTH_LOGISTIC:
		return course_logistic(t, parameter);
	case TRUTH_POWER:
		return course_power(t, parameter);
	case TRUTH_TOOTH:
		return course_tooth(t, parameter);
	case TRUTH_CHIRP:
		return course_chirp(t, parameter);
	case TRUTH_RELAXATION:
		return course_relaxation(t, parameter);
	case TRUTH_NONE:
		break;
	}
	return t;
}

#endif
