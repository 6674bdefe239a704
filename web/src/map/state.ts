import { batch, computed, effect, signal, untracked, type ReadonlySignal, type Signal } from "@preact/signals";
import { Appearance, type Words } from "../appearance";
import { Store } from "../data/store";
import type { AtlasScene, Attention, Facts, Held } from "./atlas";
import { MOST, type Live, type Window } from "./live";
import { numbersOf, type Numbers } from "./numbers";
import { Reader } from "./text";

/** A query and a key, by their rows and columns. */
export interface Cell {
  query: number;
  key: number;
}

/** What of the overview is shown: the pictures, or a number of each head. */
export type Shown = "maps" | "start" | "entropy" | "previous" | "recent";
export type Pooling = "mean" | "max";

/** The part of the map that is drawn: rows and columns, the last ones not included. */
export interface Extent {
  rows: [number, number];
  keys: [number, number];
}

/** What is known of one query. */
export interface Row {
  query: number;
  /** NaN where it sees no key. */
  entropy: number;
  start: number;
  recent: number;
  /** Its largest keys, the largest first. */
  tops: { key: number; weight: number }[];
  /** The weights of all keys, where they are known; and whether they are so exactly. */
  every: Float32Array | null;
  exact: boolean;
}

/** A query that is passed over is not asked of the server: only one that is stayed at for so long (ms). */
const STAY = 120;
/** How many keys are listed where all weights of a query are known. */
const LISTED = 12;
/** From a picture to its part: half of it along each axis. */
const CLOSER = 2;

/** What is shown of an atlas, and what is chosen of it. Views read its signals; nothing else changes them. */
export class MapState extends Appearance {
  readonly store = new Store();
  readonly reader: Reader | null;

  readonly layerAt = signal(0);
  readonly headAt = signal(0);
  readonly sample = signal(0);
  readonly shown: Signal<Shown> = signal("maps");
  readonly pooling: Signal<Pooling> = signal("mean");
  readonly cell: Signal<Cell>;
  /** Whether the cell stays while the pointer moves on. */
  readonly pinned = signal(false);
  readonly pieces = signal(false);
  /** null: the whole map. */
  readonly part: Signal<Extent | null> = signal(null);

  private readonly stayed = signal(0);

  readonly layer: ReadonlySignal<Attention> = computed(() => this.scene.layers[this.layerAt.value] as Attention);
  readonly facts: ReadonlySignal<Facts> = computed(() => this.layer.value.facts[this.headAt.value] as Facts);
  readonly samples: number;
  readonly extent: ReadonlySignal<Extent> = computed(() => this.part.value ?? whole(this.layer.value));
  /** What the text says to this attention's keys and queries. */
  readonly reads = computed(() => this.reader?.reads(this.layer.value) ?? { keys: false, queries: false });

  /** undefined: on the way; null: the bytes are no longer what they were. */
  readonly numbers: ReadonlySignal<Numbers | null | undefined> = computed(() => {
    const layer = this.layer.value;
    const held = layer.held[Math.min(this.sample.value, layer.samples - 1) * layer.heads.length + this.headAt.value] as Held;
    const buffer = this.store.get(held.blob);
    return buffer ? numbersOf(buffer, layer, held) : buffer;
  });

  readonly query: ReadonlySignal<number> = computed(() => this.cell.value.query);
  readonly row: ReadonlySignal<Row | null> = computed(() => {
    const numbers = this.numbers.value;
    return numbers ? this.rowOf(numbers, this.query.value) : null;
  });

  /** The exact weights of the part in hand, where a server can be asked. undefined: on the way; null: not to be had. */
  readonly window: ReadonlySignal<Float32Array | null | undefined> = computed(() => {
    const { rows, keys } = this.extent.value;
    if (!this.live || this.layer.value.side === 1 || !fits({ rows, keys })) return null;
    return this.live.window({ ...this.asked(), rows, keys });
  });

  constructor(
    readonly scene: AtlasScene,
    words: Words,
    readonly live: Live | null,
  ) {
    super(scene.lang, words);
    // Queries far into the text have much to look at.
    this.cell = signal({ query: Math.floor(((scene.layers[0]?.queries ?? 0) * 2) / 3), key: 0 });
    this.reader = scene.text && new Reader(scene.text);
    this.samples = Math.max(1, ...scene.layers.map((layer) => layer.samples));
    // What is told first is seen first.
    const [layer, head] = scene.story.find(({ heads }) => heads.length > 0)?.heads[0] ?? [0, 0];
    if (scene.layers.length > 0) this.choose(layer, head);
    effect(() => {
      const query = this.query.value;
      const timer = setTimeout(() => (this.stayed.value = query), STAY);
      return () => clearTimeout(timer);
    });
  }

  /** Take a head in hand. */
  choose(layer: number, head: number): void {
    const found = this.scene.layers[layer];
    if (!found || head < 0) return;
    const before = untracked(() => this.layer.value);
    batch(() => {
      this.layerAt.value = layer;
      this.headAt.value = Math.min(head, found.heads.length - 1);
      if (found.queries !== before.queries || found.keys !== before.keys) this.part.value = null;
      const { query, key } = this.cell.peek();
      this.cell.value = this.within({ query, key });
    });
  }

  /** Take a cell in hand. One that is pinned gives way only to `pin` and to keys. */
  point(cell: Cell): void {
    if (this.pinned.peek()) return;
    this.go(cell);
  }

  pin(cell: Cell): void {
    const [old, next] = [this.cell.peek(), this.within(cell)];
    batch(() => {
      this.pinned.value = !(this.pinned.peek() && old.query === next.query && old.key === next.key);
      this.go(next);
    });
  }

  go(cell: Cell): void {
    const [old, next] = [this.cell.peek(), this.within(cell)];
    if (old.query !== next.query || old.key !== next.key) this.cell.value = next;
  }

  /** Look closer at the cell in hand, or from farther away. */
  zoom(closer: boolean): void {
    const { rows, keys } = this.extent.peek();
    const { query, key } = this.cell.peek();
    const layer = this.layer.peek();
    const along = ([start, stop]: [number, number], at: number, count: number): [number, number] => {
      const length = Math.round(closer ? (stop - start) / CLOSER : (stop - start) * CLOSER);
      const size = Math.max(Math.min(length, count), Math.min(8, count));
      const first = Math.max(0, Math.min(at - Math.floor(size / 2), count - size));
      return [first, first + size];
    };
    const next = { rows: along(rows, query, layer.queries), keys: along(keys, key, layer.keys) };
    this.part.value = length(next.rows) === layer.queries && length(next.keys) === layer.keys ? null : next;
  }

  /** The word of a query or a key; undefined where the text has none for it. */
  queryWord(query: number) {
    return this.reads.value.queries ? this.reader?.word(this.layer.value.first + query) : undefined;
  }

  keyWord(key: number) {
    return this.reads.value.keys ? this.reader?.word(key) : undefined;
  }

  private within({ query, key }: Cell): Cell {
    const { queries, keys, every } = this.layer.peek();
    const clamp = (index: number, count: number) => Math.max(0, Math.min(index, count - 1));
    const row = clamp(query, queries);
    return { query: this.live ? row : row - (row % every), key: clamp(key, keys) };
  }

  private asked(): Pick<Window, "layer" | "head" | "sample"> {
    return { layer: this.layerAt.value, head: this.headAt.value, sample: this.sample.value };
  }

  private rowOf(numbers: Numbers, query: number): Row {
    const layer = this.layer.value;
    // Where not all queries are held, another has no numbers here: they may be asked for.
    const at = query % layer.every === 0 ? query / layer.every : -1;
    const tops = numbers.keys.map((keys, rank) => ({ key: keys[at] ?? -1, weight: numbers.weights[rank]?.[at] ?? 0 }));
    const row: Row = {
      query,
      entropy: numbers.entropy[at] ?? NaN,
      start: numbers.start[at] ?? NaN,
      recent: numbers.recent[at] ?? NaN,
      tops: tops.filter(({ key }) => key >= 0),
      every: null,
      exact: true,
    };
    if (layer.side === 1) {
      const { width } = numbers;
      return { ...row, every: numbers.mean.subarray(query * width, (query + 1) * width), exact: layer.exact };
    }
    const exact = this.live && this.stayed.value === query && layer.keys <= MOST ? this.exactRow(query) : null;
    return exact ? told(row, exact, layer) : row;
  }

  private exactRow(query: number): Float32Array | null {
    const keys: [number, number] = [0, this.layer.value.keys];
    return this.live?.window({ ...this.asked(), rows: [query, query + 1], keys }) ?? null;
  }
}

/** A query whose weights are all known. What `near` counts, this can tell only where queries and keys are one sequence. */
function told(row: Row, every: Float32Array, layer: Attention): Row {
  const tops: Row["tops"] = [];
  let [entropy, seen] = [0, false];
  every.forEach((weight, key) => {
    if (weight <= 0) return;
    entropy -= weight * Math.log(weight);
    seen = true;
    if (tops.length === LISTED && weight <= (tops[LISTED - 1]?.weight ?? 0)) return;
    const place = tops.findIndex((top) => top.weight < weight);
    tops.splice(place < 0 ? tops.length : place, 0, { key, weight });
    tops.length = Math.min(tops.length, LISTED);
  });
  const place = layer.first + row.query;
  const near = every.subarray(Math.max(0, place - layer.near + 1), place + 1);
  const one = layer.first + layer.queries === layer.keys;
  const recent = one ? near.reduce((sum, weight) => sum + weight, 0) : row.recent;
  return { ...row, entropy: seen ? entropy : NaN, start: every[0] ?? NaN, recent, tops, every };
}

function whole(layer: Attention): Extent {
  return { rows: [0, layer.queries], keys: [0, layer.keys] };
}

function length([start, stop]: [number, number]): number {
  return stop - start;
}

/** Whether the server gives so much at once. */
export function fits({ rows, keys }: Extent): boolean {
  return length(rows) * length(keys) <= MOST;
}
