// SPDX-License-Identifier: Apache-2.0
// A C++ program with the names that C++ programs have: templates, lambdas, operators, virtual and
// anonymous ones, the library's. The symboliser's names are compared with perf's.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace shapes
{
namespace
{
template <typename T, int N> struct Box {
	T values[N];
	__attribute__((noinline)) T sum(const std::function<T(T)> &f) const
	{
		T s{};
		for (auto v : values)
			s += f(v);
		return s;
	}
};
} // namespace

struct Shape {
	virtual ~Shape();
	virtual long area(long) const = 0;
};
Shape::~Shape() = default;

struct Square : Shape {
	std::string name;
	~Square() override;
	long area(long side) const override
	{
		return side * side + static_cast<long>(name.size());
	}
};
Square::~Square() = default;

long operator+(const Square &a, long b)
{
	return static_cast<long>(a.name.size()) + b;
}
} // namespace shapes

int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> groups;
	for (int i = 0; i < argc * 1000; i++)
		groups[argv[0] + std::to_string(i % 77)].push_back(i);
	long total = 0;
	for (auto &[key, group] : groups) {
		std::sort(group.begin(), group.end(), [](int a, int b) { return (a ^ 5) < (b ^ 5); });
		total += group[0];
	}
	shapes::Box<long, 8> box{};
	total += box.sum([&](long v) { return v + total; });
	shapes::Square square;
	square.name = argv[0];
	const shapes::Shape *shape = &square;
	total += shape->area(argc) + (square + 4);
	std::thread worker([&] { total++; });
	worker.join();
	std::cout << total << "\n";
}
