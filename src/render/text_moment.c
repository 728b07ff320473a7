// SPDX-License-Identifier: Apache-2.0
#include "render/text_moment.h"

#include "base/units.h"
#include "render/figure.h"
#include "render/heat_tracks.h"
#include "render/label.h"

#include <inttypes.h>

static const struct {
	const char *words, *unit;
} counters[CAM_COUNTER_MAX] = {
	[CAM_COUNTER_IRQ] = {"interrupts", "of CPU time"},
	[CAM_COUNTER_SOFTIRQ] = {"soft interrupts", "of CPU time"},
	[CAM_COUNTER_STEAL] = {"stolen by the hypervisor", "of CPU time"},
	[CAM_COUNTER_RUNNABLE] = {"run queue", "tasks"},
	[CAM_COUNTER_SWITCHES] = {"context switches", "a second"},
	[CAM_COUNTER_PSI_CPU] = {"some task waited for a CPU", "of the time"},
	[CAM_COUNTER_PSI_MEMORY] = {"some task waited for memory", "of the time"},
	[CAM_COUNTER_PSI_MEMORY_FULL] = {"all tasks waited for memory", "of the time"},
	[CAM_COUNTER_PSI_IO] = {"some task waited for I/O", "of the time"},
	[CAM_COUNTER_PSI_IO_FULL] = {"all tasks waited for I/O", "of the time"},
	[CAM_COUNTER_SOFTNET_DROPPED] = {"packets dropped", "a second"},
	[CAM_COUNTER_SOFTNET_SQUEEZED] = {"packet budget used up", "times a second"},
};

const char *cam_text_counter_words(enum cam_counter_kind kind)
{
	return (unsigned)kind < CAM_COUNTER_MAX ? counters[kind].words : NULL;
}

void cam_text_coverage_write(const struct cam_coverage *c, const struct cam_seen *seen,
			     struct cam_out *out)
{
	const char *comma = "";
	if (!c->known)
		return;
	cam_out_printf(out, "%s busy", cam_figure_percent(c->busy, c->due).s);
	if (c->by_ledger || c->idle)
		cam_out_printf(out, " · %s idle", cam_figure_percent(c->idle, c->due).s);
	if (!c->by_ledger && c->other)
		cam_out_printf(out, " · %s not sampled (no ledger: idle or lost)",
			       cam_figure_percent(c->other, c->due).s);
	if (!c->by_ledger || !(c->lost + c->other))
		return;
	cam_out_printf(out, " · %s not seen (", cam_figure_percent(c->lost + c->other, c->due).s);
	for (unsigned i = 0; i < CAM_CAUSE_MAX; i++) {
		if (i == CAM_CAUSE_IDLE || !seen->by_cause[i])
			continue;
		cam_out_printf(out, "%s%s %s", comma, cam_cause_words((enum cam_cause)i),
			       cam_figure_percent(seen->by_cause[i], c->due).s);
		comma = ", ";
	}
	cam_out_str(out, ")");
}

static struct cam_figure local_time(const struct cam_text_table_options *o, int64_t wall_ns,
				    bool with_date)
{
	int64_t ns = (int64_t)CAM_NS_PER_SEC, sec = wall_ns / ns - (wall_ns % ns < 0);
	int32_t east = o->zone ? o->zone(o->zone_arg, sec) : 0;
	return cam_figure_utc(wall_ns + east * ns, with_date);
}

void cam_text_events_write(const struct cam_moment *m, const struct cam_text_table_options *o,
			   struct cam_out *out)
{
	if (!m->n_events)
		return;
	cam_out_printf(out, "\nevents: %zu\n", m->n_all_events);
	for (size_t i = 0; i < m->n_events; i++) {
		const struct cam_moment_event *e = &m->events[i];
		cam_out_printf(out, "  %s  ev-%012" PRIx64 "  ",
			       e->wall_ns == INT64_MIN ? cam_figure_stamp(e->time_ns).s
						       : local_time(o, e->wall_ns, false).s,
			       e->id);
		cam_label_put(out, e->source, 16, CAM_LABEL_PLAIN);
		cam_out_str(out, "  ");
		cam_label_put(out, e->text, o->columns > 60 ? o->columns - 48 : 200,
			      CAM_LABEL_PLAIN);
		cam_out_str(out, "\n");
	}
}

static void put_amount(struct cam_out *out, enum cam_counter_kind kind, uint64_t v)
{
	if (counters[kind].unit[0] == 'o')
		cam_out_printf(out, "%s", cam_figure_percent(v, 1000).s);
	else
		cam_out_printf(out, "%" PRIu64 ".%" PRIu64, v / 1000, v % 1000 / 100);
}

const char *cam_text_counter_unit(enum cam_counter_kind kind)
{
	return counters[kind].unit;
}

void cam_text_counter_sentence(const struct cam_moment_counter *c, struct cam_out *out)
{
	cam_out_printf(out, "%s ", counters[c->kind].words);
	put_amount(out, c->kind, c->inside);
	cam_out_printf(out, " %s", counters[c->kind].unit);
	if (c->kind == CAM_COUNTER_RUNNABLE)
		cam_out_printf(out, ", up to %" PRIu64, c->inside_max);
	if (c->has_outside) {
		cam_out_str(out, "; in the rest of the window ");
		put_amount(out, c->kind, c->outside);
	}
}

void cam_text_counters_write(const struct cam_moment *m, struct cam_out *out)
{
	bool any = false;
	for (size_t i = 0; i < m->n_counters; i++) {
		const struct cam_moment_counter *c = &m->counters[i];
		if (!c->stands_out)
			continue;
		cam_out_str(out, any ? "" : "\nthe host then:\n");
		any = true;
		cam_out_str(out, "  ");
		cam_text_counter_sentence(c, out);
		cam_out_str(out, "\n");
	}
}

/* Sampling shows who ran, this who could not; and how many memory cgroups the kernel had to look after. */
static void put_host(const struct cam_moment *m, struct cam_out *out)
{
	const struct cam_track *groups = &m->host.by_kind[CAM_COUNTER_MEMORY_CGROUPS];
	if (m->host.n_waiters) {
		cam_out_str(out, "\nwaited to run, of the busiest threads: ");
		cam_heat_waiters_put(&m->host, 5, CAM_LABEL_PLAIN, out);
		cam_out_str(out, "\n");
	}
	if (m->host.n && groups->mean && groups->mean[0] > 0)
		cam_out_printf(out, "%smemory cgroups: %.0f\n", m->host.n_waiters ? "" : "\n",
			       (double)groups->mean[0]);
}

/* Another table below a line of its own. */
static void put_table(const struct cam_table *t, const char *title,
		      const struct cam_text_table_options *o, struct cam_out *out)
{
	if (!t->n_rows)
		return;
	cam_out_printf(out, "\n%s: %zu\n", title, t->n_all);
	cam_text_table_write(t, o, out);
}

static void put_busiest(const struct cam_moment *m, struct cam_out *out)
{
	const struct cam_table *t = &m->busiest, *cores = &m->cores;
	if (!m->has_busiest || !cores->n_rows)
		return;
	cam_out_printf(out, "\nbusiest core: %" PRId64, cores->rows[0].values[0].number);
	if (cores->cpu_known && t->seen.observed_ns)
		cam_out_printf(
			out, ", %s busy",
			cam_figure_percent(cores->rows[0].self.cpu_ns, t->seen.observed_ns).s);
	cam_out_str(out, "; it ran\n");
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct cam_table_row *r = &t->rows[i];
		cam_out_printf(out, "  %s ", cam_figure_percent(r->self.weight, t->all.weight).s);
		cam_label_put(out, r->values[0].text, 32, CAM_LABEL_PLAIN);
		cam_out_printf(out, " (%" PRId64 ") in ", r->values[0].number);
		cam_label_put(out, r->values[1].text, 80, CAM_LABEL_PLAIN);
		cam_out_str(out, "\n");
	}
}

int cam_text_moment_write(const struct cam_moment *m, const struct cam_text_table_options *o,
			  struct cam_out *out)
{
	if (m->window.n) {
		cam_out_printf(out, "%llu.%llu s into ", m->offset_ns / CAM_NS_PER_SEC,
			       m->offset_ns % CAM_NS_PER_SEC / (CAM_NS_PER_SEC / 10));
		cam_label_put(out, m->window, 300, CAM_LABEL_PLAIN);
		cam_out_str(out, "\n");
	} else {
		cam_out_str(out, "no window holds that moment\n");
	}
	if (m->coverage.known) {
		cam_out_printf(out, "%u CPUs: ", m->processes.seen.cpus);
		cam_text_coverage_write(&m->coverage, &m->processes.seen, out);
		cam_out_str(out, "\n");
	}
	put_table(&m->processes, "processes", o, out);
	put_table(&m->functions, "functions", o, out);
	put_table(&m->cores, "cores", o, out);
	put_busiest(m, out);
	cam_text_counters_write(m, out);
	put_host(m, out);
	cam_text_events_write(m, o, out);
	return out->error;
}
