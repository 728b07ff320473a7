// SPDX-License-Identifier: Apache-2.0
/* What each record of the kernel's means. They come in order of time. */
#include "base/vec.h"
#include "interop/perf_data_reader.h"

#include <linux/perf_event.h>

#define MAX_PENDING    (1u << 22)
#define MAX_TASKS      (1u << 22)
#define MAX_CGROUPS    (1u << 16)
#define BUILD_ID_BIT   (1u << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */
#define SPECIAL_BIT    (1u << 13) /* PERF_RECORD_MISC_FORK_EXEC, _MMAP_DATA */
#define PROT_EXEC_BIT  4u
#define KSYMBOL_GONE   1u
#define CONTEXT_HV     ((uint64_t)-32)
#define CONTEXT_KERNEL ((uint64_t)-128)
#define CONTEXT_USER   ((uint64_t)-512)
#define CONTEXT_FIRST  ((uint64_t)-4095)

enum mode { MODE_USER, MODE_KERNEL, MODE_OTHER };

struct record {
	struct cam_perf_reader *r;
	const uint8_t *p;
	size_t bytes;
	uint16_t misc;
	uint64_t time_ns;
	const struct cam_perf_order_entry *entry;
	struct cam_perf_bytes b; /* behind the header */
};

/* How many bytes at the end of this record are not its own. */
static size_t trailer_bytes(const struct record *x)
{
	const struct cam_perf_event *e =
		cam_perf_events_of(&x->r->events, x->p, x->bytes, false, x->r->swap);
	return e ? cam_perf_event_trailer(e) : 0;
}

static enum mode mode_of(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return MODE_KERNEL;
	case PERF_RECORD_MISC_USER:
		return MODE_USER;
	default:
		return MODE_OTHER;
	}
}

static int on_mmap(struct record *x, bool second)
{
	struct cam_perf_mapping m = {.kernel = mode_of(x->misc) == MODE_KERNEL};
	m.pid = (int32_t)cam_perf_bytes_u32(&x->b);
	m.tid = (int32_t)cam_perf_bytes_u32(&x->b);
	m.start = cam_perf_bytes_u64(&x->b);
	m.bytes = cam_perf_bytes_u64(&x->b);
	m.offset = cam_perf_bytes_u64(&x->b);
	m.executable = !(x->misc & SPECIAL_BIT);
	m.build_id = (struct cam_text){"", 0};
	if (second) {
		/* Device and inode, or in their place the build-id. */
		const uint8_t *id = cam_perf_bytes_take(&x->b, 24);
		if (id && x->misc & BUILD_ID_BIT && id[0] <= 20) {
			m.build_id = (struct cam_text){(const char *)id + 4, id[0]};
		} else if (id && !(x->misc & BUILD_ID_BIT)) {
			m.major = cam_perf_load_u32(id, x->r->swap);
			m.minor = cam_perf_load_u32(id + 4, x->r->swap);
			m.inode = cam_perf_load_u64(id + 8, x->r->swap);
		}
		m.executable = cam_perf_bytes_u32(&x->b) & PROT_EXEC_BIT;
		cam_perf_bytes_u32(&x->b);
	}
	if (x->b.bad)
		return 0;
	/* Where no stacks are asked for, an idle CPU's still are, and those are of the kernel. */
	if (x->r->options->drop_stacks && !m.kernel && m.pid > 0) {
		cam_perf_spaces_thread(&x->r->spaces, m.pid, m.pid);
		return 0;
	}
	m.path = cam_perf_bytes_text(&x->b);
	return cam_perf_spaces_map(&x->r->spaces, &m);
}

/* What its samples are of is to be looked for again: another name, or another thread of that number. */
static void forget_thread(struct cam_perf_reader *r, int32_t tid)
{
	r->recent[(uint32_t)tid % CAM_PERF_RECENT].changes = 0;
}

static int on_comm(struct record *x)
{
	int32_t pid = (int32_t)cam_perf_bytes_u32(&x->b), tid = (int32_t)cam_perf_bytes_u32(&x->b);
	if (x->b.bad)
		return 0;
	forget_thread(x->r, tid);
	return cam_perf_spaces_comm(&x->r->spaces, pid, tid, cam_perf_bytes_text(&x->b));
}

static int on_fork(struct record *x, bool exit)
{
	int32_t pid = (int32_t)cam_perf_bytes_u32(&x->b);
	int32_t ppid = (int32_t)cam_perf_bytes_u32(&x->b);
	int32_t tid = (int32_t)cam_perf_bytes_u32(&x->b);
	int32_t ptid = (int32_t)cam_perf_bytes_u32(&x->b);
	if (x->b.bad)
		return 0;
	if (exit) {
		cam_perf_spaces_exit(&x->r->spaces, pid, tid);
		return 0;
	}
	forget_thread(x->r, tid);
	forget_thread(x->r, ptid);
	return cam_perf_spaces_fork(&x->r->spaces, pid, tid, ppid, ptid, x->misc & SPECIAL_BIT);
}

static int on_ksymbol(struct record *x)
{
	uint64_t start = cam_perf_bytes_u64(&x->b);
	uint32_t bytes = cam_perf_bytes_u32(&x->b);
	const uint8_t *kind = cam_perf_bytes_take(&x->b, 4); /* u16 type, u16 flags */
	if (x->b.bad)
		return 0;
	bool gone = cam_perf_load_u16(kind + 2, x->r->swap) & KSYMBOL_GONE;
	return cam_perf_spaces_symbol(&x->r->spaces, start, bytes, cam_perf_bytes_text(&x->b),
				      gone);
}

static bool same_cgroup(const void *rows, uint32_t row, const void *key)
{
	return ((const struct cam_perf_cgroup *)rows)[row].id == *(const uint64_t *)key;
}

static int on_cgroup(struct record *x)
{
	struct cam_perf_reader *r = x->r;
	uint64_t id = cam_perf_bytes_u64(&x->b), hash = cam_hash_u64(id, 5);
	if (x->b.bad)
		return 0;
	struct cam_str_id path;
	int err = cam_string_intern(&r->spaces.texts, cam_perf_bytes_text(&x->b), &path);
	uint32_t row = cam_index_find(&r->cgroup_index, hash, same_cgroup, r->cgroups, &id);
	if (!err && row == CAM_INDEX_NONE) {
		err = cam_vec_reserve(&r->cgroups, &r->cap_cgroups, r->n_cgroups + 1,
				      sizeof(*r->cgroups), MAX_CGROUPS);
		if (!err)
			err = cam_index_reserve(&r->cgroup_index);
		if (!err) {
			row = (uint32_t)r->n_cgroups++;
			cam_index_add(&r->cgroup_index, hash, row);
		}
	}
	if (!err)
		r->cgroups[row] = (struct cam_perf_cgroup){id, path};
	r->changes++;
	return err == -E2BIG ? 0 : err;
}

static struct cam_str_id cgroup_of(const struct cam_perf_reader *r, uint64_t id)
{
	uint32_t row = id ? cam_index_find(&r->cgroup_index, cam_hash_u64(id, 5), same_cgroup,
					   r->cgroups, &id)
			  : CAM_INDEX_NONE;
	return row == CAM_INDEX_NONE ? (struct cam_str_id){0} : r->cgroups[row].path;
}

static uint32_t cpu_of(const struct record *x)
{
	const struct cam_perf_event *e =
		cam_perf_events_of(&x->r->events, x->p, x->bytes, false, x->r->swap);
	if (!e || !(e->attr.sample_type & PERF_SAMPLE_CPU) ||
	    !cam_perf_attr_flag(&e->attr, CAM_PERF_FLAG_SAMPLE_ID_ALL))
		return CAM_CPU_NONE;
	size_t at = e->attr.sample_type & PERF_SAMPLE_IDENTIFIER ? 16 : 8;
	if (at + CAM_PERF_RECORD_HEADER > x->bytes)
		return CAM_CPU_NONE;
	return cam_perf_load_u32(x->p + x->bytes - at, x->r->swap);
}

/* What else there is to say of the one that will be pending next. */
static int add_more(struct cam_perf_reader *r, const struct cam_perf_more *more, uint32_t *out)
{
	int err = cam_vec_reserve(&r->more, &r->cap_more, r->n_more + 1, sizeof(*r->more),
				  MAX_PENDING);
	if (err)
		return err;
	r->more[r->n_more++] = *more;
	*out = (uint32_t)r->n_more;
	return 0;
}

/* It waits with the samples: those before it must be in their window before its time may cut one. */
static int to_ledger(struct cam_perf_reader *r, const struct cam_ledger_row *row)
{
	struct cam_perf_pending p = {.chain = CAM_NONE};
	const struct cam_perf_more more = {.lost = (uint32_t)r->n_losses + 1};
	int err = cam_vec_reserve(&r->losses, &r->cap_losses, r->n_losses + 1, sizeof(*r->losses),
				  MAX_PENDING);
	if (!err)
		err = cam_vec_reserve(&r->pending, &r->cap_pending, r->n_pending + 1,
				      sizeof(*r->pending), MAX_PENDING);
	if (!err)
		err = add_more(r, &more, &p.more);
	if (err)
		return err;
	r->losses[r->n_losses++] = *row;
	r->pending[r->n_pending++] = p;
	return 0;
}

static int on_lost(struct record *x)
{
	struct cam_perf_reader *r = x->r;
	cam_perf_bytes_u64(&x->b); /* id */
	uint64_t n = cam_perf_bytes_u64(&x->b);
	if (x->b.bad || !n || n > UINT32_MAX)
		return 0;
	r->st->lost_samples += n;
	r->lost_records += n;
	uint64_t at = x->time_ns ? x->time_ns : CAM_TIME_NONE;
	const struct cam_ledger_row row = {
		.cause = CAM_CAUSE_LOST_RING,
		.cpu = cpu_of(x),
		.from_ns = at,
		.to_ns = at,
		.samples = n,
	};
	return to_ledger(r, &row);
}

static void on_lost_samples(struct record *x)
{
	uint64_t n = cam_perf_bytes_u64(&x->b);
	if (!x->b.bad && n <= UINT32_MAX)
		x->r->lost_at_end += n;
}

/* The kernel stops an event that fires too often until the next tick. */
static int on_throttle(struct record *x, bool ends)
{
	struct cam_perf_reader *r = x->r;
	uint64_t time_ns = cam_perf_bytes_u64(&x->b), id = cam_perf_bytes_u64(&x->b);
	const struct cam_perf_event *e = cam_perf_events_find(&r->events, id);
	if (x->b.bad)
		return 0;
	size_t i = 0;
	while (i < r->n_throttled && r->throttled[i].id != id)
		i++;
	if (!ends) {
		if (i == r->n_throttled && i < CAM_PERF_MAX_THROTTLED)
			r->n_throttled++;
		if (i < r->n_throttled) {
			r->throttled[i].id = id;
			r->throttled[i].since_ns = time_ns;
		}
		return 0;
	}
	if (i == r->n_throttled)
		return 0;
	uint64_t since_ns = r->throttled[i].since_ns;
	r->throttled[i] = r->throttled[--r->n_throttled];
	if (since_ns >= time_ns || !e || !e->period_ns)
		return 0;
	const struct cam_ledger_row row = {
		.cause = CAM_CAUSE_THROTTLED,
		.cpu = cpu_of(x),
		.from_ns = since_ns,
		.to_ns = time_ns,
		.samples = (time_ns - since_ns) / e->period_ns,
	};
	return row.samples ? to_ledger(r, &row) : 0;
}

static bool same_task(const void *rows, uint32_t row, const void *key)
{
	const struct cam_perf_task *a = (const struct cam_perf_task *)rows + row, *b = key;
	return a->tid == b->tid && a->pid == b->pid && a->comm.v == b->comm.v &&
	       a->cgroup.v == b->cgroup.v;
}

static int find_task(struct cam_perf_reader *r, int32_t pid, int32_t tid, uint64_t cgroup,
		     uint32_t *out)
{
	const struct cam_perf_thread *t = cam_perf_spaces_thread(&r->spaces, pid, tid);
	const struct cam_perf_task k = {
		.pid = pid,
		.tid = tid,
		.comm = t ? t->comm : (struct cam_str_id){0},
		.cgroup = cgroup_of(r, cgroup),
		.sink_id = CAM_NONE,
	};
	uint64_t hash = cam_hash_u64((uint64_t)(uint32_t)k.pid << 32 | (uint32_t)k.tid,
				     (uint64_t)k.comm.v << 32 | k.cgroup.v);
	*out = cam_index_find(&r->task_index, hash, same_task, r->tasks, &k);
	if (*out != CAM_INDEX_NONE)
		return 0;
	int err = cam_vec_reserve(&r->tasks, &r->cap_tasks, r->n_tasks + 1, sizeof(*r->tasks),
				  MAX_TASKS);
	if (!err)
		err = cam_index_reserve(&r->task_index);
	if (err)
		return err;
	r->tasks[r->n_tasks] = k;
	*out = (uint32_t)r->n_tasks++;
	cam_index_add(&r->task_index, hash, *out);
	return 0;
}

/* Nearly always one that was met just now, and nothing has been said of any since. */
static int recent_of(struct cam_perf_reader *r, int32_t pid, int32_t tid, uint64_t cgroup,
		     struct cam_perf_recent **out)
{
	struct cam_perf_recent *c = *out = &r->recent[(uint32_t)tid % CAM_PERF_RECENT];
	if (c->tid == tid && c->pid == pid && c->cgroup == cgroup && c->changes == r->changes)
		return 0;
	uint32_t task;
	int err = find_task(r, pid, tid, cgroup, &task);
	if (!err)
		*c = (struct cam_perf_recent){pid, tid, task, CAM_INDEX_NONE, cgroup, r->changes};
	return err;
}

static int task_of(struct cam_perf_reader *r, int32_t pid, int32_t tid, uint64_t cgroup,
		   uint32_t *out)
{
	struct cam_perf_recent *c;
	int err = recent_of(r, pid, tid, cgroup, &c);
	*out = c->task;
	return err;
}

static const struct cam_perf_space *space_of(const struct cam_perf_reader *r,
					     const struct cam_perf_space *user, enum mode mode)
{
	return mode == MODE_KERNEL ? &r->spaces.kernel : mode == MODE_USER ? user : NULL;
}

/* Addresses of a chain that were not seen of late: all of them wait for memory at once. */
struct missed {
	size_t n;
	struct {
		struct cam_perf_missed what;
		size_t frame;
	} rows[32];
};

static int find_missed(struct cam_perf_reader *r, struct missed *m)
{
	int err = 0;
	for (size_t i = 0; i < m->n && !err; i++)
		err = cam_perf_stacks_find_slow(&r->stacks, &m->rows[i].what,
						&r->frames[m->rows[i].frame]);
	m->n = 0;
	return err;
}

/* Room for it is there. */
static int push_address(struct cam_perf_reader *r, const struct cam_perf_space *user,
			enum mode mode, uint64_t address, struct missed *m)
{
	const struct cam_perf_space *space = space_of(r, user, mode);
	bool kernel = mode == MODE_KERNEL;
	uint32_t *to = &r->frames[r->n_frames++];
	if (cam_perf_stacks_find_seen(&r->stacks, space, kernel, address, to))
		return 0;
	cam_perf_stacks_look_up(&r->stacks, space, kernel, address, &m->rows[m->n].what);
	m->rows[m->n++].frame = r->n_frames - 1;
	return m->n == sizeof(m->rows) / sizeof(m->rows[0]) ? find_missed(r, m) : 0;
}

/* Which image its addresses are looked up in. */
static uint64_t spaces_of(const struct cam_perf_reader *r, const struct cam_perf_space *user)
{
	return (uint64_t)(user ? user->number : UINT32_MAX) << 32 | r->spaces.kernel.number;
}

/* Words of the file's byte order. */
struct chain {
	const uint8_t *p;
	uint64_t n;
};

/* Between the addresses stand marks, above CONTEXT_FIRST: whose the following ones are. */
static int push_chain(struct cam_perf_reader *r, const struct chain *from,
		      const struct cam_perf_space *user, struct cam_perf_chain *c)
{
	enum mode mode = MODE_USER;
	struct missed missed;
	missed.n = 0;
	for (uint64_t i = 0; i < from->n; i++) {
		uint64_t address = cam_perf_load_u64(from->p + 8 * i, r->swap);
		if (address >= CONTEXT_FIRST) {
			/* Where the stack was followed into garbage, that may look like a mark: what
			 * follows is garbage, too. */
			c->broken = address != CONTEXT_KERNEL && address != CONTEXT_USER &&
				    address != CONTEXT_HV;
			if (c->broken)
				break;
			mode = address == CONTEXT_KERNEL ? MODE_KERNEL
			       : address == CONTEXT_USER ? MODE_USER
							 : MODE_OTHER;
			continue;
		}
		/* One is for the mark that stands for the rest. */
		if (r->n_frames - c->first == CAM_MAX_STACK_FRAMES - 1) {
			c->truncated = true;
			break;
		}
		int err = push_address(r, user, mode, address, &missed);
		if (err)
			return err;
	}
	return find_missed(r, &missed);
}

/* The frames of a chain: those of the first sample that had it. */
static int take_chain(struct cam_perf_reader *r, const struct chain *from, struct cam_hash_128 h,
		      const struct cam_perf_space *user, uint32_t *out)
{
	bool known;
	int err = cam_perf_chains_find(&r->chains, h, spaces_of(r, user), &known, out);
	if (err || known)
		return err;
	err = cam_vec_reserve(&r->frames, &r->cap_frames, r->n_frames + from->n + 1,
			      sizeof(*r->frames), CAM_PERF_MAX_FRAMES);
	if (err)
		return err;
	struct cam_perf_chain *c = &r->chains.rows[*out];
	c->first = (uint32_t)r->n_frames;
	err = push_chain(r, from, user, c);
	c->n_frames = (uint16_t)(r->n_frames - c->first);
	return err;
}

/* One frame: the address of a sample without a chain. */
static int take_address(struct record *x, const struct cam_perf_sample *s,
			const struct cam_perf_space *user, uint32_t *out)
{
	struct cam_perf_reader *r = x->r;
	enum mode mode = mode_of(s->misc);
	int err = cam_perf_chains_add(&r->chains, out);
	if (err)
		return err;
	r->chains.rows[*out] =
		(struct cam_perf_chain){.first = (uint32_t)r->n_frames, .n_frames = 1};
	return cam_perf_stacks_find(&r->stacks, space_of(r, user, mode), mode == MODE_KERNEL, s->ip,
				    &r->frames[r->n_frames++]);
}

/* A chain of its own, for what is to be behind its frames. */
static int copy_chain(struct cam_perf_reader *r, uint32_t *chain)
{
	struct cam_perf_chain own =
		*chain == CAM_NONE ? (struct cam_perf_chain){0} : r->chains.rows[*chain];
	int err = cam_perf_chains_add(&r->chains, chain);
	own.placed = false;
	if (!err)
		r->chains.rows[*chain] = own;
	return err;
}

/* Whether its frames are not asked for: only an idle CPU is known by them. */
static bool is_bare(const struct cam_perf_reader *r, const struct cam_perf_sample *s)
{
	return r->options->drop_stacks && s->pid != 0;
}

/* It waits with those before it; where there are none and no name is missing, it need not. */
static int add_pending(struct cam_perf_reader *r, const struct cam_perf_pending *p)
{
	if (!r->n_pending && !r->n_copies && !p->more && r->stacks.n_asked == r->stacks.n)
		return cam_perf_reader_deliver_now(r, p);
	int err = cam_vec_reserve(&r->pending, &r->cap_pending, r->n_pending + 1,
				  sizeof(*r->pending), MAX_PENDING);
	if (!err)
		r->pending[r->n_pending++] = *p;
	return err;
}

static int push_frames(struct record *x, const struct cam_perf_event *e,
		       const struct cam_perf_sample *s, struct cam_perf_pending *p,
		       struct cam_perf_more *more)
{
	struct cam_perf_reader *r = x->r;
	if (is_bare(r, s))
		return 0;
	int err = cam_vec_reserve(&r->frames, &r->cap_frames, r->n_frames + 1, sizeof(*r->frames),
				  CAM_PERF_MAX_FRAMES);
	const struct cam_perf_space *user = cam_perf_spaces_of(&r->spaces, s->pid);
	if (!err && s->has_chain) {
		const struct chain chain = {s->chain, s->n_chain};
		err = take_chain(r, &chain, cam_perf_chain_hash(s->chain, s->n_chain * 8, s->pid),
				 user, &p->chain);
	} else if (!err && !e->tracepoint && e->attr.sample_type & PERF_SAMPLE_IP) {
		err = take_address(x, s, user, &p->chain);
		more->ip = s->ip;
	}
	if (!err && s->stack_bytes) {
		err = copy_chain(r, &p->chain);
		if (!err)
			err = cam_perf_reader_keep_copy(r, s);
	}
	return err;
}

static int add_sample(struct record *x, const struct cam_perf_event *e,
		      const struct cam_perf_sample *s)
{
	struct cam_perf_reader *r = x->r;
	struct cam_perf_more more = {.raw = s->raw, .raw_bytes = (uint32_t)s->raw_bytes};
	struct cam_perf_pending p = {
		.time_ns = s->time_ns,
		.weight = e->tracepoint ? 1 : s->period,
		.cpu = s->cpu,
		.event = (uint32_t)(e - r->events.rows),
		.chain = CAM_NONE,
	};
	r->has_bytes |= s->raw != NULL;
	int err = task_of(r, s->pid, s->tid, s->cgroup, &p.task);
	if (!err)
		err = push_frames(x, e, s, &p, &more);
	if (!err && (more.raw || more.ip))
		err = add_more(r, &more, &p.more);
	return err ? err : add_pending(r, &p);
}

static int on_bare(struct cam_perf_reader *r, const struct cam_perf_order_entry *entry)
{
	uint32_t event = (entry->what & CAM_PERF_ORDER_EVENT) - 1u;
	struct cam_perf_bare s = {.pid = CAM_PERF_PLAIN_TID, .tid = CAM_PERF_PLAIN_TID};
	if (entry->what & CAM_PERF_ORDER_PLAIN) {
		const struct cam_perf_plain_kind *k = &r->plain.kinds[event + 1];
		s.cpu = entry->at;
		s.period = k->period;
		event = k->event;
	} else {
		memcpy(&s, cam_perf_order_record(&r->order, entry), sizeof(s));
	}
	const struct cam_perf_event *e = &r->events.rows[event];
	struct cam_perf_pending p = {
		.time_ns = e->time_at ? entry->time_ns : CAM_TIME_NONE,
		.weight = e->tracepoint ? 1 : s.period,
		.cpu = s.cpu,
		.event = event,
		.chain = CAM_NONE,
	};
	int err = task_of(r, s.pid, s.tid, 0, &p.task);
	return err ? err : add_pending(r, &p);
}

/* The space of a process whose thread was met of late. */
static const struct cam_perf_space *user_of(const struct cam_perf_reader *r,
					    struct cam_perf_recent *c)
{
	if (c->leader == CAM_INDEX_NONE)
		c->leader = cam_perf_spaces_row(&r->spaces, c->pid);
	return c->leader == CAM_INDEX_NONE ? NULL : r->spaces.threads[c->leader].space;
}

/* Nearly all are like this: fields at places that are known ahead, and behind them a whole chain, its hash taken. */
static int on_plain(struct cam_perf_reader *r, const struct cam_perf_order_entry *entry,
		    const struct cam_perf_event *e, const uint8_t *p)
{
	const uint8_t *at = p + e->last_chain_at;
	const struct chain chain = {at + 8, cam_perf_load_u64(at, r->swap)};
	struct cam_perf_recent *c;
	int err = recent_of(r, (int32_t)cam_perf_load_u32(p + e->pid_at, r->swap),
			    (int32_t)cam_perf_load_u32(p + e->pid_at + 4, r->swap), 0, &c);
	if (err)
		return err;
	uint64_t period =
		e->period_at ? cam_perf_load_u64(p + e->period_at, r->swap) : e->attr.period;
	struct cam_perf_pending out = {
		.time_ns = e->time_at ? entry->time_ns : CAM_TIME_NONE,
		.weight = e->tracepoint ? 1 : period,
		.cpu = e->cpu_at ? cam_perf_load_u32(p + e->cpu_at, r->swap) : CAM_CPU_NONE,
		.task = c->task,
		.event = (uint32_t)(e - r->events.rows),
	};
	err = take_chain(r, &chain, cam_perf_order_hash(&r->order, entry), user_of(r, c),
			 &out.chain);
	return err ? err : add_pending(r, &out);
}

/* A sample that its leader takes for a group is one of each event in it that has counted since, as perf has it. */
static int add_group(struct record *x, struct cam_perf_sample *s)
{
	struct cam_perf_reader *r = x->r;
	int err = 0;
	for (uint64_t i = 0; i < s->n_values && !err; i++) {
		const uint8_t *at = s->values + 8 * i * s->value_words;
		const struct cam_perf_event *e =
			cam_perf_events_count(&r->events, cam_perf_load_u64(at + 8, r->swap),
					      cam_perf_load_u64(at, r->swap), &s->period);
		if (e && s->period)
			err = add_sample(x, e, s);
	}
	return err;
}

static int on_sample(struct record *x)
{
	struct cam_perf_reader *r = x->r;
	struct cam_perf_sample s;
	uint32_t event = x->entry->what & CAM_PERF_ORDER_EVENT;
	const struct cam_perf_event *e = event ? &r->events.rows[event - 1] : NULL;
	if (e && x->entry->what & CAM_PERF_ORDER_HASHED)
		return on_plain(r, x->entry, e, x->p);
	/* More counts than there are events to count would only multiply samples. */
	if (!e || !cam_perf_sample_parse(e, x->p, x->bytes, r->swap, &s) ||
	    s.n_values > r->events.n_ids) {
		r->st->malformed_samples++;
		r->unreported++;
		return 0;
	}
	return s.n_values ? add_group(x, &s) : add_sample(x, e, &s);
}

int cam_perf_reader_record(struct cam_perf_reader *r, const struct cam_perf_order_entry *entry)
{
	if (entry->what & (CAM_PERF_ORDER_BARE | CAM_PERF_ORDER_PLAIN))
		return on_bare(r, entry);
	const uint8_t *record = cam_perf_order_record(&r->order, entry);
	size_t bytes = entry->n;
	struct record x = {
		.r = r,
		.p = record,
		.bytes = bytes,
		.misc = cam_perf_load_u16(record + 4, r->swap),
		.time_ns = entry->time_ns,
		.entry = entry,
	};
	uint32_t type = cam_perf_load_u32(record, r->swap);
	if (type == PERF_RECORD_SAMPLE)
		return on_sample(&x);
	size_t own = bytes - CAM_PERF_RECORD_HEADER, trailer = trailer_bytes(&x);
	x.b = cam_perf_bytes_make(record + CAM_PERF_RECORD_HEADER,
				  own > trailer ? own - trailer : 0, r->swap);
	switch (type) {
	case PERF_RECORD_MMAP:
		return on_mmap(&x, false);
	case PERF_RECORD_MMAP2:
		return on_mmap(&x, true);
	case PERF_RECORD_COMM:
		return on_comm(&x);
	case PERF_RECORD_FORK:
		return on_fork(&x, false);
	case PERF_RECORD_EXIT:
		return on_fork(&x, true);
	case PERF_RECORD_KSYMBOL:
		return on_ksymbol(&x);
	case PERF_RECORD_CGROUP:
		return on_cgroup(&x);
	case PERF_RECORD_LOST:
		return on_lost(&x);
	case PERF_RECORD_LOST_SAMPLES:
		on_lost_samples(&x);
		return 0;
	case PERF_RECORD_THROTTLE:
		return on_throttle(&x, false);
	case PERF_RECORD_UNTHROTTLE:
		return on_throttle(&x, true);
	default:
		r->st->other_records++;
		return 0;
	}
}
