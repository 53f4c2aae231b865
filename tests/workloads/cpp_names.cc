/* SPDX-License-Identifier: MIT */
/*
 * C++ names: templates, operators, namespaces, virtual calls.
 *
 * EXPECT: main;steady();
 *         unsigned int geo::twice<geo::Square>(geo::Square const&);
 *         geo::Square::operator()(unsigned int) const;
 *         geo::Square::area() const
 */
#include "workload.h"

namespace geo
{

struct Shape {
	virtual unsigned area() const = 0;
};

struct Square : Shape {
	CALLEE unsigned area() const override;
	CALLEE unsigned operator()(unsigned n) const;
};

unsigned Square::area() const
{
	SPIN(SHORT);
	return 1;
}

unsigned Square::operator()(unsigned n) const
{
	const Shape *shape = this;
	unsigned sum = shape->area() + n;

	KEEP;
	return sum;
}

template <class T> CALLEE unsigned twice(const T &shape)
{
	unsigned sum = shape(2);

	KEEP;
	return sum;
}

} // namespace geo

static CALLEE void steady()
{
	geo::Square square;

	for (;;) {
		geo::twice(square);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
