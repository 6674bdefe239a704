import { signal, type Signal } from "@preact/signals";
import type { Blob as Packed } from "../scene";
import { unpack } from "./blobs";

/** What became of a blob: undefined while it is unpacked, null where it cannot be. */
type Held = Signal<ArrayBuffer | null | undefined>;

interface Entry {
  held: Held;
  done: Promise<void>;
  bytes: number;
  touched: number;
}

const BUDGET = 32 * 1024 * 1024;
// What was asked for this lately may be on the screen, and is kept whatever its size.
const FRESH = 1500;

/** Unpacked blobs. Only those looked at last are kept: a model of many layers is larger than a tab should be. */
export class Store {
  private readonly entries = new Map<Packed, Entry>();
  private total = 0;

  get(blob: Packed): ArrayBuffer | null | undefined {
    return this.entry(blob).held.value;
  }

  /** When the bytes are there. */
  ready(blob: Packed): Promise<void> {
    return this.entry(blob).done;
  }

  /** Forget what belongs to a scene that is no longer shown. */
  clear(): void {
    this.entries.clear();
    this.total = 0;
  }

  private entry(blob: Packed): Entry {
    let entry = this.entries.get(blob);
    if (!entry) {
      const held: Held = signal(undefined);
      entry = { held, bytes: 0, touched: 0, done: Promise.resolve() };
      entry.done = this.load(blob, entry);
      this.entries.set(blob, entry);
    }
    entry.touched = performance.now();
    return entry;
  }

  private async load(blob: Packed, entry: Entry): Promise<void> {
    try {
      const buffer = await unpack(blob);
      entry.bytes = buffer.byteLength;
      if (this.entries.get(blob) === entry) this.total += entry.bytes;
      entry.held.value = buffer;
    } catch {
      entry.held.value = null;
    }
    this.shrink();
  }

  private shrink(): void {
    if (this.total <= BUDGET) return;
    const old = performance.now() - FRESH;
    for (const [blob, entry] of [...this.entries].sort(([, a], [, b]) => a.touched - b.touched)) {
      if (this.total <= BUDGET || entry.touched > old) return;
      if (entry.bytes === 0) continue;
      this.entries.delete(blob);
      this.total -= entry.bytes;
    }
  }
}
