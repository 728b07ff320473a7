// SPDX-License-Identifier: Apache-2.0
/* The heatmap's cells by column and row, whatever they are drawn like. */
import type { Heat } from "./api";
import { isCpu } from "./format";

export interface Cell {
	c: number;
	r: number;
}

/* Rows of a NUMA node, which stand together. */
export interface NodeRows {
	node: number;
	row: number;
	rows: number;
}

/* None: there is one node, or nobody knows. */
export function nodesOf(d: Heat): NodeRows[] {
	const out: NodeRows[] = [];
	(d.nodes ?? []).forEach((node, row) => {
		if (row && node === out[out.length - 1].node)
			out[out.length - 1].rows++;
		else
			out.push({ node, row, rows: 1 });
	});
	return out;
}

/* The same time and row in a picture that begins elsewhere; null: it is not in that one, or that one has other cells. */
export function moved(at: Cell, from: Heat, to: Heat): Cell | null {
	const same = from.mode === to.mode && from.step === to.step && from.rows === to.rows && from.cpus.every((c, r) => c === to.cpus[r]);
	const c = at.c + Math.round((from.from - to.from) / to.step);
	return same && c >= 0 && c < to.columns ? { c, r: at.r } : null;
}

/* CPUs of rows, in order; null, which is all of them, where the file does not say which one that is. */
export function known(cpus: number[]): number[] | null {
	return cpus.every(isCpu) ? [...cpus].sort((p, q) => p - q) : null;
}
