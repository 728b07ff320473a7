// SPDX-License-Identifier: Apache-2.0
/* A menu at a place of the page: arrow keys walk it, Escape and clicks beside it close it. */
import { el } from "./dom";

export type Item = [words: string, act: () => void] | { words: string; href: string; download?: string };

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
		const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
		if (e.key === "Escape" || e.key === "Tab")
			close();
		else if (step)
			all[(at + step + all.length) % all.length].focus();
		else if (e.key === "Enter" || e.key === " ")
			return;
		e.stopPropagation();
		e.preventDefault();
	};
	for (const item of items)
		if (Array.isArray(item))
			menu.append(el("button", { type: "button", role: "menuitem", onclick: () => {
				close();
				item[1]();
			} }, item[0]));
		else
			menu.append(el("a", { role: "menuitem", href: item.href, download: item.download ?? true, onclick: () => setTimeout(close) }, item.words));
	document.body.append(menu);
	menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8)) + "px";
	menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8)) + "px";
	(menu.firstElementChild as HTMLElement | null)?.focus();
	document.addEventListener("pointerdown", away, true);
	document.addEventListener("keydown", key, true);
}
