// SPDX-License-Identifier: Apache-2.0
/*
 * The folding rules of stackcollapse-perf.pl, from reading its behaviour.
 *
 * That program sees lines of text and takes them apart by patterns; most of what it does to a
 * name is meant, some is what its patterns happen to do. Both end up in files that people
 * compare, so in text mode a frame is printed the way perf prints it, into a scratch buffer, and
 * read back by the same patterns, instead of listing the accidents one by one. That costs once
 * per distinct frame, not per sample.
 *
 * Invariants, text mode (frame line: ADDRESS NAME+0xOFFSET (MODULE)):
 *  1. The module starts at the last " (" that has a ')' behind it and ends at the last ')': so a
 *     module "/x (deleted)" is read as "deleted)", and its "(/x" stays with the name.
 *  2. One "+0x…" at the end of the name is cut; a name that starts with '(' drops the frame.
 *  3. The name is split at "->"; empty pieces at the end vanish, each piece after the first is
 *     inlined into the one before and marked _[i].
 *  4. A piece "[unknown]" becomes "[MODULE's file name]"; with addresses "[… <address>]". Of a live
 *     window it is as in all views: "[libfoo.so+0x1234]", the start of the function; "[jit]".
 *  5. Then, in this order: ';' to ':'; from the first '(' on cut, unless it opens "(anonymous
 *     namespace)" or the name has a Go receiver ".(…)."; quotes removed; under java, a leading
 *     'L' of a name with '/' removed; marks appended.
 *  6. A root is read from "COMM PID/TID ": the shortest start of two characters or more that is
 *     followed by a number. So "pool 7" with tid 12 is the task "pool", thread 7; a one-letter
 *     comm keeps one of the blanks behind it; thread 0 has no process.
 *
 * Example: 7f10 Lorg/A;::f(I)V->Lorg/B;::g()V+0x1c (/tmp/perf-9.map) under "java", marks for JIT:
 * "org/A::::f_[j]" and "org/B::::g_[i]".
 */
#include "interop/collapse.h"

#include "base/escape.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static struct cam_text cut(struct cam_text s, size_t from, size_t to)
{
	return (struct cam_text){s.p + from, to - from};
}

static const char *find(struct cam_text s, struct cam_text what)
{
	return memmem(s.p, s.n, what.p, what.n);
}

static void put(struct cam_buf *out, struct cam_text s)
{
	cam_buf_put(out, s.p, s.n);
}

static void put_escaped(struct cam_buf *out, struct cam_text s)
{
	cam_escape_put(out, s, CAM_ESCAPE_CONTROL);
}

struct root {
	struct cam_text comm, pid, tid;
};

static size_t skip_digits(struct cam_text s, size_t i)
{
	while (i < s.n && is_digit(s.p[i]))
		i++;
	return i;
}

static size_t skip_spaces(struct cam_text s, size_t i)
{
	while (i < s.n && is_space(s.p[i]))
		i++;
	return i;
}

/* Invariant 6. False for what is no first line of a sample to stackcollapse. */
static bool read_root(struct cam_text line, struct root *root)
{
	if (!line.n || is_space(line.p[0]))
		return false;
	for (size_t i = 2; i < line.n; i++) {
		if (!is_space(line.p[i]))
			continue;
		size_t number = skip_spaces(line, i);
		size_t end = skip_digits(line, number);
		size_t second = end;
		while (second < line.n && line.p[second] == '/')
			second++;
		size_t last = skip_digits(line, second);
		if (end == number || last == line.n || !is_space(line.p[last]))
			continue;
		root->comm = cut(line, 0, i);
		root->pid = cut(line, number, end);
		root->tid = cut(line, second, last);
		return true;
	}
	return false;
}

static void put_root(const struct cam_collapse_rules *r, const struct root *root,
		     struct cam_buf *out)
{
	size_t start = out->len;
	put_escaped(out, root->comm);
	if (r->with_pid || r->with_tid) {
		cam_buf_put_u8(out, '-');
		put(out, root->pid);
	}
	if (r->with_tid) {
		cam_buf_put_u8(out, '/');
		put(out, root->tid);
	}
	for (size_t i = start; !out->error && i < out->len; i++)
		if (out->data[i] == ' ')
			out->data[i] = '_';
}

static struct cam_text number_text(char *room, size_t room_bytes, int32_t v)
{
	int n = snprintf(room, room_bytes, "%" PRId32, v);
	return (struct cam_text){room, (size_t)n};
}

void cam_collapse_task(const struct cam_collapse_rules *r, struct cam_text comm, int32_t pid,
		       int32_t tid, struct cam_buf *out)
{
	char pid_room[16], tid_room[16];
	struct root root = {comm, CAM_TEXT("?"), number_text(tid_room, sizeof(tid_room), tid)};
	if (pid != CAM_PID_NONE)
		root.pid = number_text(pid_room, sizeof(pid_room), pid);
	if (r->mode == CAM_COLLAPSE_VERBATIM) {
		put_escaped(out, comm);
		return;
	}
	if (r->mode == CAM_COLLAPSE_LIVE) {
		put_root(r, &root, out);
		return;
	}
	struct cam_buf line = CAM_BUF(comm.n + 64);
	put(&line, comm);
	/* perf pads numbers, so that a one-letter comm has at least two blanks behind it. */
	cam_buf_printf(&line, "  ");
	if (pid != CAM_PID_NONE)
		cam_buf_printf(&line, "%" PRId32 "/", pid);
	cam_buf_printf(&line, "%" PRId32 " ", tid);
	struct root read;
	if (!cam_buf_error(&line) &&
	    read_root((struct cam_text){(char *)line.data, line.len}, &read)) {
		root = read;
		if (!root.tid.n || cam_text_equal(root.tid, CAM_TEXT("0"))) {
			root.tid = root.pid;
			root.pid = CAM_TEXT("?");
		}
	}
	put_root(r, &root, out);
	if (cam_buf_error(&line))
		out->error = cam_buf_error(&line);
	cam_buf_free(&line);
}

bool cam_collapse_is_java(struct cam_text root)
{
	return cam_text_starts(root, CAM_TEXT("java"));
}

/* What the pattern for a frame's line finds. */
struct reading {
	struct cam_text address, name, module;
};

/* Invariant 1. False where the pattern does not match: the line is passed over. */
static bool read_frame(struct cam_text line, struct reading *found)
{
	const char *close = memrchr(line.p, ')', line.n);
	if (!close)
		return false;
	size_t end = (size_t)(close - line.p), open = end;
	while (open >= 2 && !(line.p[open - 2] == ' ' && line.p[open - 1] == '('))
		open--;
	if (open < 2)
		return false;
	size_t name_end = open - 2;
	size_t start = skip_spaces(line, 0), word = start;
	while (word < line.n && is_word(line.p[word]))
		word++;
	size_t name = skip_spaces(line, word);
	if (word == start)
		return false;
	/* A name has one character at least, even if the blanks or the address must give it. */
	if (name >= name_end)
		name = name_end ? name_end - 1 : 0;
	if (name < word)
		word = name;
	if (word <= start)
		return false;
	*found = (struct reading){cut(line, start, word), cut(line, name, name_end),
				  cut(line, open, end)};
	return true;
}

/* Invariant 2, first half. */
static struct cam_text strip_offset(struct cam_text name)
{
	size_t i = name.n;
	while (i && (is_digit(name.p[i - 1]) || (name.p[i - 1] >= 'a' && name.p[i - 1] <= 'f')))
		i--;
	if (i == name.n || i < 3 || memcmp(name.p + i - 3, "+0x", 3) != 0)
		return name;
	return cut(name, 0, i - 3);
}

/* Invariant 5, cutting. */
static size_t arguments_start(struct cam_text name)
{
	const char *receiver = find(name, CAM_TEXT(".("));
	if (receiver) {
		size_t after = (size_t)(receiver - name.p) + 2;
		if (find(cut(name, after, name.n), CAM_TEXT(").")))
			return name.n;
	}
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == '(' &&
		    !cam_text_starts(cut(name, i, name.n), CAM_TEXT("(anonymous namespace)")))
			return i;
	return name.n;
}

/* Invariant 5 but for the marks; in place. */
static struct cam_text tidy(char *p, size_t n, bool java)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (p[i] == ';')
			p[i] = ':';
	n = arguments_start((struct cam_text){p, n});
	for (size_t i = 0; i < n; i++)
		if (p[i] != '"' && p[i] != '\'')
			p[kept++] = p[i];
	struct cam_text name = {p, kept};
	if (java && kept && p[0] == 'L' && memchr(p, '/', kept))
		name = cut(name, 1, kept);
	return name;
}

static bool is_kernel(struct cam_text module)
{
	if (find(module, CAM_TEXT("unknown")))
		return false;
	return cam_text_starts(module, CAM_TEXT("[")) || cam_text_ends(module, CAM_TEXT("vmlinux"));
}

/* A perf map: "/tmp/perf-" digits ".map", anywhere in the path. */
static bool is_perf_map(struct cam_text module)
{
	const char *at;
	while ((at = find(module, CAM_TEXT("/tmp/perf-")))) {
		size_t digits = (size_t)(at - module.p) + sizeof("/tmp/perf-") - 1;
		size_t end = skip_digits(module, digits);
		if (end > digits && cam_text_starts(cut(module, end, module.n), CAM_TEXT(".map")))
			return true;
		module = cut(module, digits, module.n);
	}
	return false;
}

static const char *mark_of(const struct cam_collapse_rules *r, const struct cam_collapse_frame *f,
			   struct cam_text module, struct cam_text name, bool inlined)
{
	bool live = r->mode == CAM_COLLAPSE_LIVE;
	if (inlined || (r->mark_inlined && (f->kind == CAM_FUNC_INLINED ||
					    cam_text_equal(module, CAM_TEXT("inlined")))))
		return find(name, CAM_TEXT("_[i]")) ? "" : "_[i]";
	if (r->mark_kernel && (is_kernel(module) || (live && f->kind == CAM_FUNC_KERNEL)))
		return "_[k]";
	if (r->mark_jit && (is_perf_map(module) || (live && f->kind == CAM_FUNC_JIT)))
		return find(name, CAM_TEXT("_[j]")) ? "" : "_[j]";
	return "";
}

/* Invariant 4. */
static void put_unknown(const struct cam_collapse_rules *r, const struct cam_collapse_frame *f,
			const struct reading *found, struct cam_buf *out)
{
	bool live = r->mode == CAM_COLLAPSE_LIVE && !r->addrs;
	struct cam_text module = found->module;
	const char *slash = memrchr(module.p, '/', module.n);
	if (slash)
		module = cut(module, (size_t)(slash + 1 - module.p), module.n);
	if (cam_text_equal(found->module, CAM_TEXT("[unknown]")))
		module = CAM_TEXT("unknown");
	if (live && cam_text_equal(found->module, CAM_TEXT("//anon")))
		module = CAM_TEXT("jit");
	cam_buf_put_u8(out, '[');
	put(out, module);
	if (live && f->start)
		cam_buf_printf(out, "+0x%" PRIx64, f->start);
	if (r->addrs) {
		cam_buf_put(out, " <", 2);
		put(out, found->address);
		cam_buf_put_u8(out, '>');
	}
	cam_buf_put_u8(out, ']');
}

/* One piece of a name; `scratch` has room behind what the reading borrows from it. */
static void put_piece(const struct cam_collapse_rules *r, const struct cam_collapse_frame *f,
		      const struct reading *found, struct cam_text piece, bool inlined,
		      struct cam_buf *scratch, struct cam_buf *out)
{
	size_t start = scratch->len;
	if (cam_text_equal(piece, CAM_TEXT("[unknown]")))
		put_unknown(r, f, found, scratch);
	else
		put(scratch, piece);
	if (cam_buf_error(scratch))
		return;
	struct cam_text name = tidy((char *)scratch->data + start, scratch->len - start, f->java);
	put_escaped(out, name);
	put(out, cam_text_of(mark_of(r, f, found->module, name, inlined)));
	scratch->len = start;
}

/* Invariant 3. */
static size_t put_pieces(const struct cam_collapse_rules *r, const struct cam_collapse_frame *f,
			 const struct reading *found, struct cam_buf *scratch, struct cam_buf *out)
{
	struct cam_text rest = found->name;
	size_t pieces = 0;
	bool split = r->mode == CAM_COLLAPSE_TEXT || f->kind == CAM_FUNC_JIT;
	while (split && cam_text_ends(rest, CAM_TEXT("->")))
		rest.n -= 2;
	while (rest.n) {
		const char *arrow = split ? find(rest, CAM_TEXT("->")) : NULL;
		size_t n = arrow ? (size_t)(arrow - rest.p) : rest.n;
		if (pieces)
			cam_buf_put_u8(out, ';');
		put_piece(r, f, found, cut(rest, 0, n), pieces > 0, scratch, out);
		pieces++;
		rest = arrow ? cut(rest, n + 2, rest.n) : CAM_TEXT("");
	}
	return pieces;
}

/*
 * The frame as perf prints it; as many bytes again are left free behind it. A bare address is
 * printed as such, and no frame to the pattern. A name without a module is none either, but
 * worth keeping.
 */
static struct cam_text print_frame(const struct cam_collapse_frame *f, struct cam_buf *scratch)
{
	bool inlined = f->kind == CAM_FUNC_INLINED, bare = !f->module.n && !f->name.n && !inlined;
	struct cam_text unknown = inlined ? CAM_TEXT("inlined") : CAM_TEXT("[unknown]");
	cam_buf_clear(scratch);
	cam_buf_printf(scratch, "%" PRIx64 " ", f->address);
	put(scratch, f->name.n || f->blank ? f->name : CAM_TEXT("[unknown]"));
	if (f->offset != CAM_OFFSET_NONE)
		cam_buf_printf(scratch, "+0x%" PRIx64, f->offset);
	if (!bare) {
		cam_buf_put(scratch, " (", 2);
		put(scratch, f->module.n ? f->module : unknown);
		cam_buf_put_u8(scratch, ')');
	}
	if (!cam_buf_reserve(scratch, scratch->len + 64))
		return CAM_TEXT("");
	return (struct cam_text){(char *)scratch->data, scratch->len};
}

/* A live frame has nothing to be read back from text: only its parts are brought into place. */
static bool read_live(const struct cam_collapse_frame *f, struct cam_buf *scratch,
		      struct reading *found)
{
	struct cam_text line = print_frame(f, scratch);
	if (!line.n)
		return false;
	const char *blank = memchr(line.p, ' ', line.n);
	*found = (struct reading){cut(line, 0, (size_t)(blank - line.p)), f->name, f->module};
	if (!f->name.n)
		found->name = CAM_TEXT("[unknown]");
	if (!f->module.n)
		found->module = CAM_TEXT("[unknown]");
	if (cam_text_ends(found->module, CAM_TEXT(" (deleted)")))
		found->module.n -= sizeof(" (deleted)") - 1;
	return true;
}

/* The importer of folded stacks has taken these off. */
static const char *kind_mark(enum cam_func_kind kind)
{
	switch (kind) {
	case CAM_FUNC_KERNEL:
		return "_[k]";
	case CAM_FUNC_JIT:
		return "_[j]";
	case CAM_FUNC_INLINED:
		return "_[i]";
	default:
		return "";
	}
}

size_t cam_collapse_frame(const struct cam_collapse_rules *r, const struct cam_collapse_frame *f,
			  struct cam_buf *scratch, struct cam_buf *out)
{
	struct reading found;
	if (r->mode == CAM_COLLAPSE_VERBATIM) {
		put_escaped(out, f->name);
		put(out, cam_text_of(kind_mark(f->kind)));
		return 1;
	}
	if (r->mode == CAM_COLLAPSE_LIVE)
		return read_live(f, scratch, &found) ? put_pieces(r, f, &found, scratch, out) : 0;
	if (!read_frame(print_frame(f, scratch), &found))
		return 0;
	found.name = strip_offset(found.name);
	if (cam_text_starts(found.name, CAM_TEXT("(")))
		return 0;
	return put_pieces(r, f, &found, scratch, out);
}

/*
 * The pattern is "… : PERIOD? EVENT:" at the end of the line. In front of a detail stand the time
 * and the event, so it can match there only inside the detail, or right behind the event.
 */
bool cam_collapse_event(struct cam_text event, bool has_time, struct cam_text detail,
			struct cam_collapse_event *out)
{
	size_t end = detail.n;
	while (end && is_space(detail.p[end - 1]))
		end--;
	if (!end) {
		*out = (struct cam_collapse_event){.name = event, .own_period = true};
		for (size_t i = 0; i < event.n; i++)
			if (is_space(event.p[i]))
				return false;
		return has_time && event.n;
	}
	size_t word = end;
	while (word && !is_space(detail.p[word - 1]))
		word--;
	if (detail.p[end - 1] != ':' || end - word < 2)
		return false;
	size_t before = word;
	while (before && is_space(detail.p[before - 1]))
		before--;
	size_t digits = before;
	while (digits && is_digit(detail.p[digits - 1]))
		digits--;
	size_t colon = digits;
	while (colon && is_space(detail.p[colon - 1]))
		colon--;
	/* "EVENT: " itself ends in the colon asked for. */
	if (colon && detail.p[colon - 1] != ':')
		return false;
	*out = (struct cam_collapse_event){.name = cut(detail, word, end - 1),
					   .period = cut(detail, digits, before)};
	return true;
}
