// SPDX-License-Identifier: Apache-2.0
// What other people's programs say about a file that perfcam wrote, as JSON on standard output.
//
//	node read.mjs pprof FILE       npm pprof-format: sums by type and labels
//	node read.mjs speedscope FILE  speedscope's own JSON schema: its complaints
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const [what, path] = process.argv.slice(2);

function pprof() {
	const { Profile } = require('pprof-format');
	const p = Profile.decode(gunzipSync(readFileSync(path)));
	const s = (i) => p.stringTable.strings[Number(i)];
	const sums = p.sampleType.map((t, k) => [s(t.type), s(t.unit), p.sample.reduce(
		(sum, x) => sum + Number(x.value[k]), 0)]);
	const names = new Set(p.function.map((f) => s(f.name)));
	const comms = {};
	for (const x of p.sample)
		for (const l of x.label)
			if (s(l.key) === 'comm')
				comms[s(l.str)] = (comms[s(l.str)] ?? 0) + Number(x.value[0]);
	return { sums, names: [...names].sort(), comms, encoded: Profile.decode(p.encode()).sample.length };
}

// Draft 7, as far as that schema uses it; an unknown keyword is an error here.
function complaints(schema, root, value, at, out) {
	for (const [key, rule] of Object.entries(schema)) {
		if (key === '$ref') {
			complaints(root.definitions[rule.replace('#/definitions/', '')], root, value, at, out);
		} else if (key === 'type') {
			const is = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
			if (is !== rule)
				out.push(`${at}: ${is} where ${rule} is wanted`);
		} else if (key === 'const') {
			if (value !== rule)
				out.push(`${at}: ${value} is not ${rule}`);
		} else if (key === 'enum') {
			if (!rule.includes(value))
				out.push(`${at}: ${value} is none of ${rule}`);
		} else if (key === 'required') {
			for (const name of rule)
				if (!(name in value))
					out.push(`${at}: ${name} is missing`);
		} else if (key === 'properties') {
			for (const [name, part] of Object.entries(rule))
				if (name in value)
					complaints(part, root, value[name], `${at}.${name}`, out);
		} else if (key === 'items') {
			value.forEach((v, i) => complaints(rule, root, v, `${at}[${i}]`, out));
		} else if (key === 'anyOf') {
			const all = rule.map((part) => {
				const found = [];
				complaints(part, root, value, at, found);
				return found;
			});
			if (!all.some((found) => found.length === 0))
				out.push(...all[0]);
		} else if (!['title', '$schema', 'definitions'].includes(key)) {
			throw new Error(`the schema uses '${key}'`);
		}
	}
	return out;
}

function speedscope() {
	const schema = require('speedscope/dist/release/file-format-schema.json');
	const file = JSON.parse(readFileSync(path));
	return complaints(schema, schema, file, 'file', []).slice(0, 5);
}

console.log(JSON.stringify(what === 'pprof' ? pprof() : speedscope()));
