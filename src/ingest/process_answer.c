// SPDX-License-Identifier: Apache-2.0
/*
 * What /proc says of a process, and what of it to believe.
 *
 * An answer is a look at another time, of a pid that may be another's by then. It says when the
 * mappings were read (maps_read_ns, before the reading) and when the process started (in ticks of
 * 10 ms). So:
 *  - another start by more than 2 ticks: another process. If we saw ours being forked the answer
 *    is discarded; else it is ours that is gone, and the answer is about its successor;
 *  - an exec later than maps_read_ns: the mappings may be those of the old program, and those of
 *    the new one are known from records: discarded, but for user and cgroup;
 *  - records are released late, so the answer runs ahead of them and may be about a program whose
 *    exec is still to come. It is noted, and believed when the records have come as far;
 *  - a process whose mappings are known keeps them. Only of one that is unknown or suspect, or that was
 *    sampled outside of them, are the mappings taken (of the latter only if it is the same program);
 *  - records later than maps_read_ns are laid over the answer, earlier ones are in it.
 *
 * Since when a mapping is valid: samples are parked while the question is under way, and are older
 * than the answer. A mapping that a record told of is valid since then. One that only the answer
 * has came without a record: before the start, or while records were lost. So it is valid since
 * the end of the last loss.
 *
 * Example: 7 is unknown and sampled at t=5; a record maps b over [10, 20) at t=6; /proc is read at
 * t=7 and has a in [0, 10), b in [10, 20). The parked sample of t=5 finds its address 3 in a; 15 it
 * does not find, for b was not there yet. Had it executed a program at t=6, the answer would be about that,
 * and would have waited for the exec's record: the sample of t=5 then stays without a name.
 */
#include "ingest/process_parts.h"

#include <errno.h>
#include <stdlib.h>

void cam_processes_asked(struct cam_process *p, uint32_t ticket, uint64_t now_ns)
{
	p->ticket = ticket;
	p->asked_ns = now_ns;
}

static void free_word(struct cam_processes *t, struct cam_process_word *w)
{
	if (!w)
		return;
	cam_words_release(t->options.words, w->exe);
	cam_words_release(t->options.words, w->cgroup);
	free(w);
}

void cam_process_drop_answer(struct cam_processes *t, struct cam_process *p)
{
	cam_image_release(&t->images, p->draft);
	free_word(t, p->word);
	p->draft = NULL;
	p->word = NULL;
	cam_link_leave(&p->of_words);
}

/* Adds a packet's mappings to the draft; what does not fit makes the answer useless. */
static int gather(struct cam_processes *t, struct cam_process *p,
		  const struct cam_process_tidings *a)
{
	if (!p->draft && !(p->draft = cam_image_new(&t->images)))
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_mappings; i++) {
		int err = cam_image_map(&t->images, &p->draft, &a->mappings[i], 0, false);
		if (err == -ENOMEM)
			return err;
	}
	/* Since when is not known, but that they were there then. */
	for (uint32_t i = 0; i < p->draft->n; i++)
		cam_files_mapped(p->draft->maps[i].file, a->maps_read_ns);
	return 0;
}

static void set_since(struct cam_image *draft, const struct cam_image *own, uint64_t lost_to_ns)
{
	for (uint32_t i = 0; i < draft->n; i++) {
		struct cam_image_map *d = &draft->maps[i];
		const struct cam_image_map *had =
			own ? cam_image_find(own, d->start, UINT64_MAX) : NULL;
		bool same = had && had->file == d->file && had->end >= d->end;
		d->since_ns = same ? had->since_ns : lost_to_ns;
	}
}

/* The draft becomes the image, with the records that came after it. */
static void adopt(struct cam_processes *t, struct cam_process *p, const struct cam_process_word *a)
{
	struct cam_image *own = p->image;
	int err = 0;
	set_since(p->draft, own, t->lost_to_ns);
	for (uint32_t i = 0; own && i < own->n && !err; i++) {
		if (own->maps[i].since_ns > a->said.maps_read_ns)
			err = cam_image_map_row(&t->images, &p->draft, &own->maps[i]);
	}
	struct cam_word *exe = cam_word_hold(a->exe ? a->exe : own ? own->exe : NULL);
	if (exe && !err)
		err = cam_image_set_exe(&t->images, &p->draft, exe);
	else
		cam_words_release(t->options.words, exe);
	if (err == -ENOMEM)
		return;
	p->image = p->draft;
	p->draft = NULL;
	cam_image_release(&t->images, own);
	p->known = true;
	p->incomplete = false;
	p->exe_due = false;
	p->version++;
	if (a->said.maps_read_ns >= t->lost_to_ns)
		p->epoch = t->epoch;
}

static void take_identity(struct cam_processes *t, struct cam_process *p,
			  const struct cam_process_word *a)
{
	if (!p->start_ns)
		p->start_ns = a->said.start_ns;
	if (a->said.uid != CAM_UID_NONE)
		p->uid = a->said.uid;
	if (a->cgroup) {
		cam_words_release(t->options.words, p->cgroup);
		p->cgroup = cam_word_hold(a->cgroup);
	}
	p->confirmed = true;
	p->version++;
}

/* A record's comm is surer than one of /proc, unless records were lost in between. */
static void take_comm(struct cam_processes *t, struct cam_process *p, int32_t tid,
		      struct cam_text comm, bool suspect)
{
	struct cam_thread *k = cam_processes_thread(t, p, tid);
	if (k)
		k->waiting = false;
	if (k && comm.n && (!k->known || (suspect && k->comm_ns <= t->lost_to_ns)))
		cam_thread_set_comm(k, comm, 0);
}

static void fail(struct cam_processes *t, struct cam_process *p)
{
	p->ticket = 0;
	if (p->failures < UINT8_MAX)
		p->failures++;
	cam_process_drop_answer(t, p);
}

/* The answer is about another process than ours: which of the two lives? The answer goes
 * along. NULL: it is of no use. */
static struct cam_process *choose(struct cam_processes *t, struct cam_process *p)
{
	t->stats.discarded++;
	if (p->born_ns) {
		fail(t, p);
		return NULL;
	}
	struct cam_image *draft = p->draft;
	struct cam_process_word *word = p->word;
	int32_t pid = p->pid;
	p->draft = NULL;
	p->word = NULL;
	cam_process_detach(t, p);
	p = cam_process_make(t, pid);
	if (!p) {
		cam_image_release(&t->images, draft);
		free_word(t, word);
		return NULL;
	}
	cam_process_thread(t, p, word->tid);
	p->draft = draft;
	p->word = word;
	return p;
}

/* The last packet is there: the rest of what it says, until it can be believed. */
static int note(struct cam_processes *t, struct cam_process *p, const struct cam_tidings *a)
{
	const struct cam_process_tidings *said = &a->process;
	struct cam_words *words = t->options.words;
	struct cam_process_word *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->said = *said;
	w->tid = a->tid;
	w->exe = said->exe.n ? cam_words_take(words, said->exe) : NULL;
	w->cgroup = said->cgroup.n ? cam_words_take(words, said->cgroup) : NULL;
	if ((said->exe.n && !w->exe) || (said->cgroup.n && !w->cgroup)) {
		free_word(t, w);
		return -ENOMEM;
	}
	size_t n = said->comm.n < sizeof(w->comm) ? said->comm.n : sizeof(w->comm);
	if (n)
		memcpy(w->comm, said->comm.p, n);
	w->said.comm = (struct cam_text){w->comm, n};
	p->word = w;
	cam_link_join(&t->words, &p->of_words);
	return 0;
}

static void answer_process(struct cam_processes *t, const struct cam_tidings *a)
{
	struct cam_process *p = cam_processes_find(t, a->pid);
	if (!p || !p->ticket || p->ticket != a->ticket)
		return;
	/* Asked again meanwhile: the newer answer is as good. */
	if (p->word)
		cam_process_drop_answer(t, p);
	int err = a->error ? a->error : gather(t, p, &a->process);
	if (!err && !a->process.more)
		err = note(t, p, a);
	if (err)
		fail(t, p);
}

/* All that happened before it was read is known. */
static void believe(struct cam_processes *t, struct cam_process *p)
{
	if (cam_process_starts_differ(p, p->word->said.start_ns) && !(p = choose(t, p)))
		return;
	const struct cam_process_word *w = p->word;
	p->ticket = 0;
	p->failures = 0;
	bool suspect = cam_processes_is_suspect(t, p);
	take_identity(t, p, w);
	/* One that is about to end has no mappings any more; ours were right. */
	bool is_leaving = !p->draft->n && p->image && p->image->n;
	bool is_other = p->image && p->image->exe && w->exe && p->image->exe != w->exe;
	bool is_known = p->known && !suspect && (!p->incomplete || is_other);
	if (is_known || p->exec_ns > w->said.maps_read_ns || (p->ended_ns && !p->parked) ||
	    is_leaving) {
		t->stats.discarded += !is_known;
	} else {
		adopt(t, p, w);
		take_comm(t, p, w->tid, w->said.comm, suspect);
	}
	cam_process_drop_answer(t, p);
	cam_processes_make_room(t, p);
}

void cam_processes_believe(struct cam_processes *t, uint64_t released_ns)
{
	/* To believe one may evict others, with what was said of them: from the start again. */
	for (struct cam_link *l = t->words.next; l != &t->words;) {
		struct cam_process *p = CAM_LINK_OWNER(l, struct cam_process, of_words);
		l = l->next;
		if (p->word->said.maps_read_ns > released_ns)
			continue;
		believe(t, p);
		l = t->words.next;
	}
}

bool cam_processes_has_noted(const struct cam_processes *t)
{
	return !cam_link_is_alone(&t->words);
}

void cam_processes_answer(struct cam_processes *t, const struct cam_tidings *a)
{
	if (a->type == CAM_ERRAND_PROCESS) {
		answer_process(t, a);
		return;
	}
	struct cam_process *p = cam_processes_find(t, a->pid);
	if (p)
		take_comm(t, p, a->tid, a->error ? (struct cam_text){"", 0} : a->comm, false);
}
