// SPDX-License-Identifier: Apache-2.0
#include "events/event_kind.h"

enum {
	OOM,
	HUNG,
	SOFT_LOCKUP,
	HARD_LOCKUP,
	RCU,
	SEGFAULT,
	LINK_DOWN,
	LINK_UP,
	NIC,
	MCE,
	IO,
	FS,
	OOPS,
	ALLOC,
	THERMAL,
	CLOCK,
};

static const struct cam_event_kind kinds[] = {
	[OOM] = {"oom-kill", "out of memory", CAM_SEVERITY_CRIT},
	[HUNG] = {"hung-task", "hung task", CAM_SEVERITY_ERR},
	[SOFT_LOCKUP] = {"soft-lockup", "soft lockup", CAM_SEVERITY_CRIT},
	[HARD_LOCKUP] = {"hard-lockup", "hard lockup", CAM_SEVERITY_CRIT},
	[RCU] = {"rcu-stall", "RCU stall", CAM_SEVERITY_ERR},
	[SEGFAULT] = {"segfault", "segmentation fault", CAM_SEVERITY_WARNING},
	[LINK_DOWN] = {"link-down", "link down", CAM_SEVERITY_WARNING},
	[LINK_UP] = {"link-up", "link up", CAM_SEVERITY_NOTICE},
	[NIC] = {"nic-reset", "network device reset", CAM_SEVERITY_ERR},
	[MCE] = {"hardware-error", "hardware error", CAM_SEVERITY_CRIT},
	[IO] = {"io-error", "I/O error", CAM_SEVERITY_ERR},
	[FS] = {"fs-error", "file system error", CAM_SEVERITY_ERR},
	[OOPS] = {"kernel-bug", "kernel bug", CAM_SEVERITY_CRIT},
	[ALLOC] = {"alloc-failure", "allocation failure", CAM_SEVERITY_WARNING},
	[THERMAL] = {"throttled", "throttled by heat", CAM_SEVERITY_WARNING},
	[CLOCK] = {"clock-unstable", "clock unstable", CAM_SEVERITY_WARNING},
};

/*
 * Parts that must follow each other, with anything ('*') between them, by the first byte: a line is looked at
 * once, and at each of its bytes only what begins with it is tried (0.4 µs a line, where one after the other took
 * 4). The first place where one fits decides, and there the first row.
 */
struct row {
	const char *pattern;
	unsigned kind;
};

static const struct row with_colon[] = {
	{": segfault at ", SEGFAULT},
	{": link down", LINK_DOWN},
	{": link up", LINK_UP},
	{": Link down", LINK_DOWN},
	{": Link up", LINK_UP},
	{": segfault (", SEGFAULT},
	{0},
};
static const struct row with_B[] = {
	{"BUG: soft lockup", SOFT_LOCKUP},
	{"BTRFS error", FS},
	{"BTRFS: error", FS},
	{"BTRFS critical", FS},
	{"BUG: unable to handle", OOPS},
	{"BUG: kernel NULL pointer", OOPS},
	{"BUG: Bad ", OOPS},
	{"BUG: scheduling while atomic", OOPS},
	{"BUG: sleeping function called", OOPS},
	{"BUG: workqueue lockup", OOPS},
	{"BUG: KASAN: ", OOPS},
	{0},
};
static const struct row with_E[] = {
	{"EDAC *UE ", MCE},	     {"EDAC *CE ", MCE},     {"EXT4-fs error", FS},
	{"EXT4-fs (*): error ", FS}, {"EXT4-fs *ailed", FS}, {0},
};
static const struct row with_F[] = {
	{"FAT-fs *rror", FS},
	{0},
};
static const struct row with_H[] = {
	{"Hardware Unit Hang", NIC},
	{"Hard LOCKUP", HARD_LOCKUP},
	{0},
};
static const struct row with_I[] = {
	{"I/O error", IO},
	{0},
};
static const struct row with_J[] = {
	{"JBD2: *rror", FS},
	{0},
};
static const struct row with_K[] = {
	{"Keep alive watchdog timeout", NIC},
	{"Kernel panic", OOPS},
	{0},
};
static const struct row with_N[] = {
	{"NETDEV WATCHDOG", NIC},
	{0},
};
static const struct row with_O[] = {
	{"Oops: ", OOPS},
	{0},
};
static const struct row with_P[] = {
	{"PF reset issued", NIC},
	{0},
};
static const struct row with_R[] = {
	{"Reset adapter", NIC},
	{0},
};
static const struct row with_T[] = {
	{"Tx timeout", NIC},	      {"TX timeout", NIC},
	{"Tx Unit Hang", NIC},	      {"Tx that wasn't completed on time", NIC},
	{"Trigger reset is on", NIC}, {0},
};
static const struct row with_X[] = {
	{"XFS *orruption", FS},
	{"XFS *metadata I/O error", FS},
	{"XFS *nternal error", FS},
	{"XFS *shut down", FS},
	{0},
};
static const struct row with_bracket[] = {
	{"[Hardware Error]", MCE},
	{0},
};
static const struct row with_a[] = {
	{"ata*: failed command", IO},
	{"arking clocksource *unstable", CLOCK},
	{0},
};
static const struct row with_c[] = {
	{"critical medium error", IO},
	{"critical target error", IO},
	{"clock throttled", THERMAL},
	{0},
};
static const struct row with_e[] = {
	{"eset adapter unexpectedly", NIC},
	{"ena *reset", NIC},
	{"emounting filesystem read-only", FS},
	{0},
};
static const struct row with_g[] = {
	{"general protection fault", OOPS},
	{0},
};
static const struct row with_h[] = {
	{"hard LOCKUP", HARD_LOCKUP},
	{"health compromised", NIC},
	{0},
};
static const struct row with_i[] = {
	{"invoked oom-killer", OOM},
	{"ink is Down", LINK_DOWN},
	{"ink is down", LINK_DOWN},
	{"ink is Up", LINK_UP},
	{"ink is up", LINK_UP},
	{"ink becomes ready", LINK_UP},
	{"ink status definitely down", LINK_DOWN},
	{"ink status definitely up", LINK_UP},
	{"imeout on tx queue", NIC},
	{0},
};
static const struct row with_k[] = {
	{"kernel BUG at ", OOPS},
	{0},
};
static const struct row with_m[] = {
	{"mce: *achine check", MCE},
	{0},
};
static const struct row with_n[] = {
	{"nvme *timeout, ", IO},
	{"nvme *controller is down", IO},
	{0},
};
static const struct row with_o[] = {
	{"oom-kill:constraint=", OOM},
	{0},
};
static const struct row with_p[] = {
	{"page allocation failure", ALLOC},
	{0},
};
static const struct row with_r[] = {
	{"rcu*detected stall", RCU},
	{"rcu*self-detected stall", RCU},
	{"rcu*expedited stall", RCU},
	{"rcu*kthread starved", RCU},
	{"ransmit timed out", NIC},
	{"ransmit timeout", NIC},
	{0},
};
static const struct row with_t[] = {
	{"task *blocked for more than *seconds", HUNG},
	{"task *blocked in I/O wait for more than *seconds", HUNG},
	{"traps: *general protection", SEGFAULT},
	{"traps: *trap *ip:", SEGFAULT},
	{"transmit queue *timed out", NIC},
	{"tx timeout", NIC},
	{"tx_timeout", NIC},
	{"tx hang", NIC},
	{"temperature above threshold", THERMAL},
	{0},
};
static const struct row with_u[] = {
	{"ut of memory: Kill", OOM},	     {"ut of memory and no killable", OOM},
	{"unhandled exception: ", SEGFAULT}, {"unhandled level ", SEGFAULT},
	{"unhandled signal 11 ", SEGFAULT},  {0},
};

static const struct row *const by_first[256] = {
	[':'] = with_colon, ['B'] = with_B, ['E'] = with_E, ['F'] = with_F, ['I'] = with_I,
	['H'] = with_H,	    ['P'] = with_P, ['J'] = with_J, ['K'] = with_K, ['N'] = with_N,
	['O'] = with_O,	    ['R'] = with_R, ['T'] = with_T, ['X'] = with_X, ['['] = with_bracket,
	['a'] = with_a,	    ['c'] = with_c, ['e'] = with_e, ['g'] = with_g, ['h'] = with_h,
	['i'] = with_i,	    ['k'] = with_k, ['m'] = with_m, ['n'] = with_n, ['o'] = with_o,
	['p'] = with_p,	    ['r'] = with_r, ['t'] = with_t, ['u'] = with_u,
};

/* Of the searches behind a '*', which may each read the rest of the text. */
#define MAX_SEARCHES 32u

static bool fits(struct cam_text text, const char *pattern, unsigned *searches)
{
	size_t part = strcspn(pattern, "*");
	if (!cam_text_starts(text, (struct cam_text){pattern, part}))
		return false;
	while (pattern[part] == '*' && (*searches)++ < MAX_SEARCHES) {
		text = (struct cam_text){text.p + part, text.n - part};
		pattern += part + 1;
		part = strcspn(pattern, "*");
		const char *at = text.n ? memmem(text.p, text.n, pattern, part) : NULL;
		if (!at)
			return false;
		text.n -= (size_t)(at - text.p);
		text.p = at;
	}
	return pattern[part] != '*';
}

const struct cam_event_kind *cam_event_kind_of(struct cam_text text)
{
	unsigned searches = 0;
	for (; text.n; text.p++, text.n--) {
		const struct row *r = by_first[(unsigned char)text.p[0]];
		for (; r && r->pattern; r++) {
			/* The second byte, too, before anything is called. */
			if (text.n > 1 && text.p[1] == r->pattern[1] &&
			    fits(text, r->pattern, &searches))
				return &kinds[r->kind];
		}
	}
	return NULL;
}

const struct cam_event_kind *cam_event_kind_named(struct cam_text name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (cam_text_equal(name, cam_text_of(kinds[i].name)))
			return &kinds[i];
	}
	return NULL;
}
