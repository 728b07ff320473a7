// SPDX-License-Identifier: Apache-2.0
/*
 * Binary answers of the server: JSON about them, then columns of little-endian numbers, each
 * aligned to its size, so that they are used in place.
 *
 *	"PCC1"  u32 bytes of JSON  JSON  zero bytes up to a multiple of 8  columns
 *
 * The JSON's `columns` says of each: [type, offset behind the padding, how many].
 */
export type Column = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;

export interface Answer {
	meta: Record<string, unknown>;
	columns: Record<string, Column>;
}

const MAGIC = 0x31434350;
const KINDS = {
	u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array,
} as const;

export function decodeColumns(bytes: ArrayBuffer): Answer {
	const view = new DataView(bytes);
	if (bytes.byteLength < 8 || view.getUint32(0, true) !== MAGIC)
		throw new Error("not an answer of perfcam");
	const textBytes = view.getUint32(4, true);
	if (8 + textBytes > bytes.byteLength)
		throw new Error("the answer is cut short");
	const meta = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, textBytes)));
	const start = Math.ceil((8 + textBytes) / 8) * 8;
	const columns: Record<string, Column> = {};
	for (const [name, place] of Object.entries(meta.columns as Record<string, [string, number, number]>)) {
		const [type, offset, n] = place;
		const Kind = KINDS[type as keyof typeof KINDS];
		if (!Kind || offset < 0 || n < 0 || start + offset + n * Kind.BYTES_PER_ELEMENT > bytes.byteLength)
			throw new Error(`column ${name} is not in the answer`);
		columns[name] = new Kind(bytes, start + offset, n);
	}
	return { meta, columns };
}
