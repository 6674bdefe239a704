import type { Attention, Reading } from "./atlas";

/** A word, character or sign, in the pieces from `start` on. */
export interface Word {
  text: string;
  kind: "t" | "s" | "x";
  start: number;
  size: number;
  /** Whether white space stands before it. */
  gap: boolean;
}

/** A text by its words and by its pieces. */
export class Reader {
  /** The number of the word that each piece belongs to. */
  readonly of: Int32Array;
  /** How many words there are. */
  readonly count: number;
  private readonly starts: Int32Array;

  constructor(readonly text: Reading) {
    this.count = text.words.length;
    this.starts = new Int32Array(this.count);
    this.of = new Int32Array(text.pieces.length);
    text.sizes.reduce((start, size, index) => {
      this.starts[index] = start;
      this.of.fill(index, start, start + size);
      return start + size;
    }, 0);
  }

  /** The word at a position; undefined where the text has none. */
  word(piece: number): Word | undefined {
    return piece >= 0 && piece < this.of.length ? this.words(this.of[piece] ?? 0, 1)[0] : undefined;
  }

  /** So many words, from one on. */
  words(first: number, count: number): Word[] {
    const { words, sizes, kinds, gaps } = this.text;
    return words.slice(first, first + count).map((text, place) => {
      const index = first + place;
      const kind = kinds[index] as Word["kind"];
      return { text, kind, start: this.starts[index] ?? 0, size: sizes[index] ?? 0, gap: gaps[index] === "1" };
    });
  }

  /** The pieces of a word. */
  pieces({ start, size }: Word): string[] {
    return this.text.pieces.slice(start, start + size);
  }

  /** Whether the keys of an attention are the positions of this text; and whether its queries are. */
  reads(layer: Attention): { keys: boolean; queries: boolean } {
    const keys = layer.keys === this.of.length;
    return { keys, queries: layer.first + layer.queries <= this.of.length && (keys || layer.queries === this.of.length) };
  }
}

const SIGNS: Record<string, string> = { " ": "␣", "\n": "↵", "\r": "↵", "\t": "⇥", "\u00a0": "⍽", "\u3000": "⬚" };

/** A text whose white space, and signs that have no form of their own, can be seen. */
export function visible(text: string): string {
  return text.replace(/\s|\p{Cc}|\p{Cf}|\p{Cs}|\p{Co}|\p{Cn}/gu, (sign) => {
    const code = (sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    return SIGNS[sign] ?? `‹U+${code}›`;
  });
}
