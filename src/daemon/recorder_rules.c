// SPDX-License-Identifier: Apache-2.0
/*
 * What rules do.
 *
 * A pin is written at once. When the same rule asks again for a time that touches its pin, that pin grows, so that a
 * thousand events share one; grown pins are written every PIN_AGAIN_NS, and the new one before the old one is
 * removed. When the budget is used up a pin is refused, and that is an event, once in SAY_NS.
 *
 * A program is started as `perfcam helper hook`, which gives up every privilege before it becomes the program.
 * What the event says is in its environment alone. One at a time, one a minute a rule; killed after RUN_NS, and what it
 * started when it ends.
 */
#include "base/units.h"
#include "daemon/errand_child.h"
#include "daemon/log.h"
#include "daemon/recorder_parts.h"
#include "model/severity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIN_AGAIN_NS (5 * CAM_NS_PER_SEC)
#define PIN_DOUBT_NS (60 * CAM_NS_PER_SEC) /* a log with wrong dates does not pin days */
#define PIN_MAX_NS   (int64_t)(24 * 3600 * CAM_NS_PER_SEC)
#define SAY_NS	     (60 * CAM_NS_PER_SEC)
#define RUN_NS	     (30 * CAM_NS_PER_SEC)
#define RUN_OLD_NS   (60 * CAM_NS_PER_SEC)
#define RUN_FOUND_NS \
	(3700 * CAM_NS_PER_SEC) /* of a window that was sealed just now: an hour at most */
#define ENV_BYTES 2048u

struct cam_acting_rule {
	struct cam_rule rule;
	unsigned line;
	struct cam_pin kept; /* as it is in the store; to_ns 0: none */
	int64_t wanted_from_ns, wanted_to_ns;
	uint64_t written_ns, refused_ns, run_ns; /* when last; 0: never */
	uint64_t capsule_ns;			 /* when it last asked for one */
	uint64_t untried, untried_ns;		 /* of rule.untried, what was said; when last */
};

static void free_rules(struct cam_acting_rule *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cam_rule_free(&v[i].rule);
	free(v);
}

static void write_grown(struct cam_recorder *r, uint64_t now_ns, bool at_once);

int cam_recorder_load_rules(struct cam_recorder *r)
{
	const struct cam_settings *s = r->settings;
	struct cam_acting_rule *v = s->n_rules ? calloc(s->n_rules, sizeof(*v)) : NULL;
	char why[256];
	size_t n = 0;
	int err = s->n_rules && !v ? -ENOMEM : 0;
	for (; n < s->n_rules && !err; n++) {
		err = cam_rule_parse(&v[n].rule, cam_text_of(s->rules[n].text), why, sizeof(why));
		v[n].line = s->rules[n].line;
		if (err)
			break;
	}
	if (err) {
		free_rules(v, n);
		return err;
	}
	write_grown(r, r->rules.n ? cam_clock_now(r->clock) : 0, true);
	free_rules(r->rules.v, r->rules.n);
	r->rules.v = v;
	r->rules.n = n;
	return 0;
}

void cam_recorder_close_rules(struct cam_recorder *r)
{
	if (r->rules.child) {
		kill(-r->rules.child, SIGKILL);
		waitpid(r->rules.child, NULL, 0);
	}
	cam_recorder_close_capsules(r);
	free_rules(r->rules.v, r->rules.n);
	r->rules = (struct cam_recorder_rules){0};
}

enum cam_severity cam_recorder_judge(const struct cam_recorder *r, const struct cam_happening *h)
{
	enum cam_severity s = h->severity;
	for (size_t i = 0; i < r->rules.n; i++) {
		struct cam_rule *rule = &r->rules.v[i].rule;
		if (rule->severity < CAM_SEVERITY_MAX &&
		    cam_rule_is_about(rule, h->source, h->text))
			s = rule->severity;
	}
	return s;
}

static void say_refused(struct cam_recorder *r, struct cam_acting_rule *a, uint64_t now_ns)
{
	char text[256];
	if (a->refused_ns && now_ns - a->refused_ns < SAY_NS)
		return;
	a->refused_ns = now_ns;
	snprintf(
		text, sizeof(text),
		"a pin was refused: the pins' budget (max-pinned %s) is used up (rule in line %u); "
		"perfcam pin lists pins, unpin releases one",
		cam_settings_text(r->settings, CAM_SET_MAX_PINNED), a->line);
	int err = cam_live_event(r->live, now_ns, 0, CAM_SEVERITY_WARNING, CAM_TEXT("perfcam"),
				 cam_text_of(text));
	if (err)
		cam_recorder_mishap(r, "an event was not kept: %s", strerror(-err));
}

static void write_pin(struct cam_recorder *r, struct cam_acting_rule *a, uint64_t now_ns)
{
	struct cam_store *s = cam_keeper_store(r->keeper);
	struct cam_pin pin = a->kept;
	uint64_t pinned, most = r->settings->max_pinned_bytes;
	pin.from_ns = a->wanted_from_ns;
	pin.to_ns = a->wanted_to_ns;
	a->written_ns = now_ns;
	int err = s ? cam_store_pinned_bytes(cam_keeper_io(r->keeper), &pinned) : -EROFS;
	if (!err && most && pinned >= most) {
		say_refused(r, a, now_ns);
		return;
	}
	if (!err)
		err = cam_store_pin(s, &pin);
	if (!err && a->kept.to_ns)
		err = cam_store_unpin(s, a->kept.from_ns, a->kept.to_ns);
	/* Somebody has released the old one meanwhile. */
	if (err && err != -ENOENT)
		cam_recorder_mishap(r, "a rule's pin was not written: %s", strerror(-err));
	else
		a->kept = pin;
}

static void want_pin(struct cam_recorder *r, struct cam_acting_rule *a,
		     const struct cam_happening *h, uint64_t now_ns)
{
	const struct cam_axis *x = cam_intake_axis(r->events.intake);
	int64_t wall;
	uint64_t doubt;
	if (!cam_anchor_wall_of(x->anchors, x->n, h->time_ns, &wall, &doubt))
		return;
	doubt += h->uncertainty_ns;
	doubt = doubt < PIN_DOUBT_NS ? doubt : PIN_DOUBT_NS;
	int64_t from = wall - (int64_t)(a->rule.before_ns + doubt);
	int64_t to = wall + (int64_t)(a->rule.after_ns + doubt);
	/* An old line of the kernel's log, from when nobody recorded. */
	if (!cam_recorder_has_recorded(r, h->time_ns + a->rule.after_ns + doubt, from))
		return;
	bool touches = a->kept.to_ns && from <= a->wanted_to_ns && to >= a->wanted_from_ns &&
		       to - a->wanted_from_ns < PIN_MAX_NS;
	if (touches) {
		a->wanted_from_ns = from < a->wanted_from_ns ? from : a->wanted_from_ns;
		a->wanted_to_ns = to > a->wanted_to_ns ? to : a->wanted_to_ns;
		return;
	}
	/* One that was refused or not written: to count all that is pinned for each event would be dear. */
	if (!a->kept.to_ns && a->written_ns && now_ns - a->written_ns < PIN_AGAIN_NS)
		return;
	/* What the last one has grown to goes first. */
	if (a->kept.to_ns && a->kept.to_ns != a->wanted_to_ns)
		write_pin(r, a, now_ns);
	a->kept = (struct cam_pin){0};
	snprintf(a->kept.note, sizeof(a->kept.note), "rule: %.*s",
		 (int)(h->text.n < sizeof(a->kept.note) ? h->text.n : sizeof(a->kept.note)),
		 h->text.p);
	a->wanted_from_ns = from;
	a->wanted_to_ns = to;
	write_pin(r, a, now_ns);
}

/* "NAME=text"; what a variable cannot hold is a blank. */
static void set_variable(char room[ENV_BYTES], const char *name, struct cam_text text)
{
	int n = snprintf(room, ENV_BYTES, "%s=", name);
	for (size_t i = 0; i < text.n && (size_t)n < ENV_BYTES - 1; i++)
		room[n++] = (char)(text.p[i] ? text.p[i] : ' ');
	room[n] = 0;
}

static int start(const struct cam_rule *rule, char *const env[], pid_t *pid)
{
	const char *argv[CAM_RULE_WORDS + 4] = {"perfcam", "helper", "hook"};
	for (size_t i = 0; i <= CAM_RULE_WORDS; i++)
		argv[3 + i] = rule->argv[i];
	return cam_errand_child_start(argv, env, -1, pid);
}

static void run(struct cam_recorder *r, struct cam_acting_rule *a, const struct cam_happening *h,
		uint64_t now_ns)
{
	const struct cam_axis *x = cam_intake_axis(r->events.intake);
	char text[ENV_BYTES], source[ENV_BYTES], severity[64], when[64];
	int64_t wall = 0;
	uint64_t doubt;
	bool found = cam_text_equal(h->source, CAM_TEXT("finding"));
	/* What is long over is nobody's alarm. */
	if ((a->run_ns && now_ns - a->run_ns < CAM_RULE_RUN_NS) ||
	    now_ns - h->time_ns > (found ? RUN_FOUND_NS : RUN_OLD_NS))
		return;
	if (r->rules.child) {
		cam_recorder_mishap(r, "%s: not started: another rule's program still runs",
				    a->rule.argv[0]);
		return;
	}
	a->run_ns = now_ns;
	if (!cam_anchor_wall_of(x->anchors, x->n, h->time_ns, &wall, &doubt))
		wall = 0;
	set_variable(text, "PERFCAM_EVENT_TEXT", h->text);
	set_variable(source, "PERFCAM_EVENT_SOURCE", h->source);
	snprintf(severity, sizeof(severity), "PERFCAM_EVENT_SEVERITY=%s",
		 cam_severity_name(cam_recorder_judge(r, h)));
	snprintf(when, sizeof(when), "PERFCAM_EVENT_REALTIME_NS=%" PRId64, wall);
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *const env[] = {path, text, source, severity, when, NULL};
	int err = start(&a->rule, env, &r->rules.child);
	if (err) {
		cam_recorder_mishap(r, "%s: not started: %s", a->rule.argv[0], strerror(-err));
		return;
	}
	r->rules.child_until_ns = now_ns + RUN_NS;
}

void cam_recorder_act(struct cam_recorder *r, const struct cam_happening *h)
{
	uint64_t now = cam_clock_now(r->clock);
	for (size_t i = 0; i < r->rules.n; i++) {
		struct cam_acting_rule *a = &r->rules.v[i];
		if (!cam_rule_is_about(&a->rule, h->source, h->text))
			continue;
		if (a->rule.pins && !r->request->one_off)
			want_pin(r, a, h, now);
		if (a->rule.capsule && !r->request->one_off)
			cam_recorder_want_capsule(r, h, a->rule.after_ns, &a->capsule_ns);
		if (a->rule.argv[0] && r->settings->allow_run)
			run(r, a, h, now);
	}
}

static void write_grown(struct cam_recorder *r, uint64_t now_ns, bool at_once)
{
	for (size_t i = 0; i < r->rules.n; i++) {
		struct cam_acting_rule *a = &r->rules.v[i];
		bool grown = a->kept.to_ns && (a->kept.to_ns != a->wanted_to_ns ||
					       a->kept.from_ns != a->wanted_from_ns);
		if (grown && (at_once || now_ns - a->written_ns >= PIN_AGAIN_NS))
			write_pin(r, a, now_ns);
	}
}

/* An expression that takes too long. */
static void say_untried(struct cam_recorder *r, struct cam_acting_rule *a, uint64_t now_ns)
{
	char text[200];
	uint64_t more = a->rule.untried - a->untried;
	if (!more || (a->untried_ns && now_ns - a->untried_ns < SAY_NS))
		return;
	a->untried = a->rule.untried;
	a->untried_ns = now_ns;
	snprintf(
		text, sizeof(text),
		"the expression of the rule in line %u takes too long: it was not tried on %" PRIu64
		" event%s; a simpler one (without .* in front) may help",
		a->line, more, more == 1 ? "" : "s");
	int err = cam_live_event(r->live, now_ns, 0, CAM_SEVERITY_WARNING, CAM_TEXT("perfcam"),
				 cam_text_of(text));
	if (err)
		cam_recorder_mishap(r, "an event was not kept: %s", strerror(-err));
}

/* What the program has left behind goes with it: programs that never end would add up. */
static void look_after_child(struct cam_recorder *r, uint64_t now_ns)
{
	siginfo_t ended = {0};
	int status;
	/* Not taken yet: until then nobody else can have its number, as a process or as a group. */
	if (waitid(P_PID, (id_t)r->rules.child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    !ended.si_pid && now_ns <= r->rules.child_until_ns)
		return;
	kill(-r->rules.child, SIGKILL);
	if (waitpid(r->rules.child, &status, WNOHANG) != r->rules.child)
		return;
	r->rules.child = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == CAM_HOOK_REFUSED)
		cam_recorder_mishap(
			r,
			"a rule's program was not started: it would be the recorder's own user, and this "
			"kernel has no Landlock to keep it from the store");
	else if (!WIFEXITED(status) || WEXITSTATUS(status))
		cam_recorder_mishap(r, "a rule's program failed (status %d)", status);
}

void cam_recorder_poll_rules(struct cam_recorder *r, uint64_t now_ns, bool last)
{
	write_grown(r, now_ns, last);
	for (size_t i = 0; i < r->rules.n; i++)
		say_untried(r, &r->rules.v[i], now_ns);
	if (r->rules.child)
		look_after_child(r, now_ns);
	cam_recorder_poll_capsules(r, now_ns);
}
