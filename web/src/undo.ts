// SPDX-License-Identifier: Apache-2.0
/*
 * Undo for the graph: zoom, filters, hidden frames, search, what a frame stands for. The time that is
 * looked at is the Back button's: one goes back to a graph without losing the selection.
 */
import type { State } from "./state";

const FIELDS = ["zoom", "filters", "only", "search", "by", "frames", "collapse", "sandwich", "tab", "icicle", "colour"] as const;
const MOST = 100;
type Graph = Pick<State, (typeof FIELDS)[number]>;

function graphOf(s: State): Graph {
	return structuredClone(Object.fromEntries(FIELDS.map((f) => [f, s[f]]))) as unknown as Graph;
}

const same = (p: Graph, q: Graph) => JSON.stringify(p) === JSON.stringify(q);

/* Typing a search is one act, however many letters it has. */
const onlySearch = (p: Graph, q: Graph) => p.search !== q.search && same({ ...p, search: "" }, { ...q, search: "" });

export class Undo {
	private now: Graph;
	private past: Graph[] = [];
	private future: Graph[] = [];
	private typing = false;

	constructor(s: State) {
		this.now = graphOf(s);
	}

	/* The state has become this one. */
	note(s: State): void {
		const to = graphOf(s);
		if (same(to, this.now))
			return;
		const typing = onlySearch(this.now, to);
		if (!typing || !this.typing)
			this.past.push(this.now);
		if (this.past.length > MOST)
			this.past.shift();
		this.future = [];
		this.typing = typing;
		this.now = to;
	}

	/* What to change the state by; null: there is nothing to undo, or to do again. */
	back(): Partial<State> | null {
		return this.go(this.past, this.future);
	}

	again(): Partial<State> | null {
		return this.go(this.future, this.past);
	}

	private go(from: Graph[], to: Graph[]): Partial<State> | null {
		const g = from.pop();
		if (!g)
			return null;
		to.push(this.now);
		this.now = g;
		this.typing = false;
		return structuredClone(g);
	}

	get steps(): number {
		return this.past.length;
	}
}
