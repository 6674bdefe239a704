import type { Attention, Held } from "./atlas";

/** What is held of one head and sample: maps row by row, all else a number for each query that is held. */
export interface Numbers {
  height: number;
  width: number;
  mean: Float32Array;
  /** The same as `mean` where each cell is one weight. */
  max: Float32Array;
  entropy: Float32Array;
  start: Float32Array;
  recent: Float32Array;
  /** By rank; a key is -1 where the query sees fewer. */
  weights: Float32Array[];
  keys: Int32Array[];
}

const ROUNDED = 65520;
const WHOLE = 65535;

/** How many rows and columns of cells of a side an attention has. */
export function cells({ first, queries, keys }: Attention, side: number): { height: number; width: number } {
  return { height: Math.ceil(((first % side) + queries) / side), width: Math.ceil(keys / side) };
}

const known = new WeakMap<ArrayBuffer, Numbers>();

/** The numbers in the bytes of a head; kept as long as the bytes are. */
export function numbersOf(buffer: ArrayBuffer, layer: Attention, held: Held): Numbers {
  let found = known.get(buffer);
  if (!found) known.set(buffer, (found = layer.exact ? exact(buffer, layer) : rounded(buffer, layer, held)));
  return found;
}

function exact(buffer: ArrayBuffer, layer: Attention): Numbers {
  const { height, width } = cells(layer, layer.side);
  const rows = Math.ceil(layer.queries / layer.every);
  let place = 0;
  const take = (count: number) => {
    const part = new Float32Array(buffer, place, count);
    place += 4 * count;
    return part;
  };
  const mean = take(height * width);
  const max = layer.side === 1 ? mean : take(height * width);
  const [entropy, start, recent] = [take(rows), take(rows), take(rows)];
  const weights = Array.from({ length: layer.top }, () => take(rows));
  const keys = Array.from({ length: layer.top }, () => {
    const part = new Int32Array(buffer, place, rows).map((key) => key - 1);
    place += 4 * rows;
    return part;
  });
  return { height, width, mean, max, entropy, start, recent, weights, keys };
}

function rounded(buffer: ArrayBuffer, layer: Attention, held: Held): Numbers {
  const { height, width } = cells(layer, layer.side);
  const rows = Math.ceil(layer.queries / layer.every);
  let place = 0;
  const map = (most: number) => {
    const part = new Uint8Array(buffer, place, height * width);
    place += height * width;
    const shades = Float32Array.from({ length: 256 }, (_, byte) => most * (byte / 255) ** 2);
    return Float32Array.from(part, (byte) => shades[byte] ?? 0);
  };
  /** So many times whole numbers, in planes of bytes of all of them, the upper ones first. */
  const take = (times: number, planes: number) => {
    const found = new Int32Array(times * rows);
    for (let plane = 0; plane < planes; plane++, place += found.length) {
      const part = new Uint8Array(buffer, place, found.length);
      for (let at = 0; at < found.length; at++) found[at] = ((found[at] ?? 0) << 8) | (part[at] ?? 0);
    }
    return Array.from({ length: times }, (_, time) => found.subarray(time * rows, (time + 1) * rows));
  };
  const share = (whole: number) => (codes: Int32Array) => Float32Array.from(codes, (code) => (code / whole) ** 2);
  const mean = map(held.mean);
  const max = layer.side === 1 ? mean : map(held.max);
  const spread = Math.log(Math.max(layer.keys, 2)) / ROUNDED;
  const [spreads, ...shares] = take(3, 2);
  const entropy = Float32Array.from(spreads ?? [], (code) => (code === WHOLE ? NaN : code * spread));
  const [start, recent] = shares.map(share(ROUNDED)) as [Float32Array, Float32Array];
  const weights = take(layer.top, 2).map(share(WHOLE));
  const named = Math.ceil((32 - Math.clz32(layer.keys)) / 8);
  const keys = take(layer.top, named).map((found) => found.map((key) => key - 1));
  return { height, width, mean, max, entropy, start, recent, weights, keys };
}

/** The small pictures of all heads in the bytes of a sample: [mean, max] of each. */
export function smallOf(buffer: ArrayBuffer, layer: Attention): [Uint8Array, Uint8Array][] {
  const { height, width } = cells(layer, layer.small_side);
  const size = height * width;
  const maps = layer.small_side === 1 ? 1 : 2;
  const all = new Uint8Array(buffer);
  return layer.heads.map((_, head) => {
    const at = (map: number) => all.subarray((head * maps + map) * size, (head * maps + map + 1) * size);
    return [at(0), at(maps - 1)];
  });
}
