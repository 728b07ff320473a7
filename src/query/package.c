// SPDX-License-Identifier: Apache-2.0
#include "query/package.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static bool is_word(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static struct cam_text part(const char *from, const char *to)
{
	return (struct cam_text){from, (size_t)(to - from)};
}

static struct cam_text find(struct cam_text s, const char *what)
{
	const char *p = s.n ? memmem(s.p, s.n, what, strlen(what)) : NULL;
	return p ? part(p, s.p + s.n) : (struct cam_text){"", 0};
}

/* Of a file below node_modules the package it belongs to: the innermost one. */
static struct cam_text node_package(struct cam_text name)
{
	static const char folder[] = "node_modules/";
	struct cam_text found = {"", 0}, at = name;
	while ((at = find(at, folder)).n) {
		at = part(at.p + sizeof(folder) - 1, at.p + at.n);
		const char *p = at.p, *end = at.p + at.n;
		bool scoped = p < end && *p == '@';
		while (p < end && (*p != '/' || scoped) && *p != ' ' && *p != ':') {
			scoped = scoped && *p != '/';
			p++;
		}
		found = part(at.p, p);
	}
	if (found.n)
		return found;
	/* The runtime's own: "node:fs:12", "node:internal/timers:5". */
	at = find(name, "node:");
	const char *p = at.p + (at.n ? 5 : 0), *end = at.p + at.n;
	while (p < end && is_word(*p))
		p++;
	return part(at.p, p);
}

/* Words with '/' or '.' between them, from the start of the name. */
static struct cam_text dotted_path(struct cam_text name, char between)
{
	const char *p = name.p, *end = name.p + name.n;
	while (p < end && (is_word(*p) || *p == between))
		p++;
	return part(name.p, p);
}

/* The part before the class: where a word starts with a capital, or else before the last one. */
static struct cam_text before_class(struct cam_text path, char between)
{
	const char *last = NULL;
	for (const char *p = path.p; p < path.p + path.n; p++) {
		bool starts = p == path.p || p[-1] == between;
		if (starts && p > path.p)
			last = p - 1;
		if (starts && *p >= 'A' && *p <= 'Z')
			return p > path.p ? part(path.p, p - 1) : (struct cam_text){"", 0};
	}
	return last && between == '/' ? part(path.p, last) : (struct cam_text){"", 0};
}

static struct cam_text without_l(struct cam_text name)
{
	/* Each name of each window is asked for: most are none by their first letter. */
	if (name.n <= 2 || name.p[0] != 'L')
		return name;
	struct cam_text path = dotted_path(name, '/');
	bool type = path.n < name.n && path.p[path.n] == ';' && memchr(path.p, '/', path.n);
	return type ? part(name.p + 1, name.p + name.n) : name;
}

struct cam_text cam_package_of(struct cam_text name)
{
	struct cam_text package = node_package(name);
	if (package.n)
		return package;
	name = without_l(name);
	if (!name.n || !is_letter(name.p[0]))
		return (struct cam_text){"", 0};
	package = before_class(dotted_path(name, '/'), '/');
	return package.n ? package : before_class(dotted_path(name, '.'), '.');
}

struct cam_text cam_package_step(struct cam_text *rest)
{
	struct cam_text s = *rest;
	struct cam_text slashes = dotted_path(s, '/'), dots = dotted_path(s, '.');
	char between = memchr(slashes.p, '/', slashes.n) ? '/' : '.';
	struct cam_text path = between == '/' ? slashes : dots;
	const char *cut = path.n ? memchr(path.p, between, path.n) : NULL;
	const char *end = s.p + s.n, *next = cut ? cut + 1 : end;
	if (!cut) {
		/* The class ends at ";::", "::" or "."; the method is the rest. */
		cut = path.p + path.n;
		next = cut;
		while (next < end && (*next == ';' || *next == ':'))
			next++;
		if (next == cut || next == end || cut == s.p)
			cut = next = end;
	}
	*rest = part(next, end);
	return part(s.p, cut);
}

struct cam_text cam_package_tidy(struct cam_text name, char *room, size_t room_bytes)
{
	struct cam_text bare = without_l(name);
	const char *semicolon = bare.n < name.n ? memchr(bare.p, ';', bare.n) : NULL;
	if (!semicolon || bare.n > room_bytes)
		return name;
	size_t head = (size_t)(semicolon - bare.p);
	memcpy(room, bare.p, head);
	memcpy(room + head, semicolon + 1, bare.n - head - 1);
	return (struct cam_text){room, bare.n - 1};
}

struct cam_text cam_package_file(struct cam_text path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (!slash || slash + 1 == path.p + path.n)
		return path;
	return (struct cam_text){slash + 1, path.n - (size_t)(slash + 1 - path.p)};
}
