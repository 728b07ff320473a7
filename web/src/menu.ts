// SPDX-License-Identifier: Apache-2.0
/* A menu at a place of the page: arrow keys walk it, Escape and clicks beside it close it. */
import { el } from "./dom";

/* An act, a link (to a file, or to another page), or one of several of which one is chosen. */
export type Item = [words: string, act: () => void] | { words: string; href: string; page?: boolean }
	| { words: string; title: string; detail: string; checked: boolean; act: () => void };

export function openMenu(label: string, x: number, y: number, items: Item[]): void {
	const before = document.activeElement;
	const menu = el("div", { class: "menu", role: "menu", "aria-label": label });
	const close = () => {
		menu.remove();
		document.removeEventListener("pointerdown", away, true);
		document.removeEventListener("keydown", key, true);
		if (before instanceof HTMLElement)
			before.focus({ preventScroll: true });
	};
	const away = (e: Event) => {
		if (!menu.contains(e.target as Node))
			close();
	};
	const key = (e: KeyboardEvent) => {
		const all = [...menu.children] as HTMLElement[], at = all.indexOf(document.activeElement as HTMLElement);
		const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1 }[e.key];
		/* What the browser does with other keys is its own; the page has none of them meanwhile. */
		e.stopPropagation();
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key === "Escape" || e.key === "Tab")
			close();
		else if (to !== undefined)
			all[(to + all.length) % all.length].focus();
		else if (e.key === " " && at >= 0)
			all[at].click();
		else
			return;
		e.preventDefault();
	};
	const entry = (words: string, act: () => void, more: Record<string, string>, ...inside: Node[]) => el("button", { type: "button", role: "menuitem", ...more, onclick: () => {
		close();
		act();
	} }, words ? words : null, ...inside);
	for (const item of items)
		if (Array.isArray(item))
			menu.append(entry(item[0], item[1], {}));
		else if ("act" in item)
			menu.append(entry("", item.act, { class: "choice", role: "menuitemradio", title: item.title, "aria-checked": String(item.checked) },
				el("span", { class: "cut" }, item.words), el("span", { class: "quiet" }, item.detail)));
		else
			menu.append(el("a", { role: "menuitem", href: item.href, onclick: () => setTimeout(close),
				...(item.page ? { target: "_blank", rel: "noopener" } : { download: true }) }, item.words));
	document.body.append(menu);
	menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8)) + "px";
	menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8)) + "px";
	(menu.firstElementChild as HTMLElement | null)?.focus();
	document.addEventListener("pointerdown", away, true);
	document.addEventListener("keydown", key, true);
}
