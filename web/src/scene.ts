// What a page shows, as data: written by `src/attnlab/scene/`, read by everything here. Plain JSON, format 1.
//
// Nothing in it is HTML. Every string may hold what a user wrote, and lands on the page as text.

export const FORMAT = 1;

export type Language = "zh" | "en";

/** The same sentence in both languages. */
export type Both = Record<Language, string>;

export interface Scene {
  attnlab_scene: typeof FORMAT;
  /** The language to show first. */
  lang: Language;
  /** The name of what was run. */
  program: string;
  /** One sentence or more on the whole run: how many attentions were found. */
  summary: Both[];
  /** The texts that the lines below point into; the first is the program's own. */
  files: SourceFile[];
  /** Attentions; those of the same lines and shapes are one, with several layers. */
  told: Told[];
  /** Steps that belong to no attention, a line each. */
  rest: Rest[];
  findings: Finding[];
  /** What `why` answers, where it was asked beforehand. In the playground each is asked for when it is opened. */
  why: Why[];
  /** The program ended in an error: what it said, and what did not fit. Steps up to there are told all the same. */
  error: { type: string; message: string; file: number; line: number | null; diagnosis: Both } | null;
  /** What the program printed, as far as it was kept; "" where it was not. */
  printed: string;
  /** What a reader must know of the record: counted loops, what is pooled and what is left out. */
  notes: Both[];
}

export interface SourceFile {
  /** Path as the user gave it. */
  name: string;
  text: string;
}

/** Lines of a file, counted from 1, with the expression that stands there. */
export interface Code {
  file: number;
  lines: number[];
  /** The exact spans, beside `lines`: [line, column, end line, end column], columns from 0 in UTF-16 units. */
  spans: [number, number, number, number][];
  text: string;
}

export interface Told {
  title: Both;
  /** The formula in pieces. A part of the flow is in hand where its marks hold a piece's key. */
  formulas: { text: string; key: string }[][];
  letters: { letter: string; size: number; meaning: Both; names: string[] }[];
  /** In reading order: X → Q, K, V → Kᵀ → QKᵀ → scale → mask → softmax → · V → after. */
  parts: Part[];
  /** Each attention that is told here: twelve equal layers are twelve. */
  layers: Layer[];
  notes: Both[];
}

export interface Part {
  names: Both[];
  marks: string[];
  items: Item[];
  /** The roles of the tensors that are made here, and of those that they are made from; keys of `Layer.tensors`. */
  makes: Role[];
  reads: Role[];
}

export interface Item {
  codes: Code[];
  /** "[B, L, D] · [D, d_k] → [B, L, d_k] = [2, 4, 8]", and whose it is where there are several. */
  equations: string[];
  says: Both[];
}

// "mask" is 1 where a key is hidden from a query and 0 where it is seen, whatever form the code's own mask has.
// A tensor of 1 sample or 1 head where others have more is the same for all of them.
// "kt" is k with its last axes exchanged, as it meets q; "scaled" and "masked" are the scores after those steps.
export type Role =
  | "x" | "memory" | "q" | "k" | "v" | "kt" | "scores" | "scaled" | "mask" | "masked" | "weights" | "output"
  | "merged" | "projected";

export interface Layer {
  /** The path of the module, or a number where there is none. */
  label: string;
  /** Code of this layer's own, where it is another than that of the first. */
  tensors: Partial<Record<Role, Tensor>>;
  /** √d_k, or whatever the scores were divided by (null: not scaled, or not by one number). */
  divisor: number | null;
  /** The product of q and k itself multiplies by this number (alpha of `baddbmm`): a score is factor × q · k. */
  factor?: number;
  /** The scores are no (multiples of) dot products of q and k: `w · tanh(q + k)`, or more is added in the same step. */
  additive?: boolean;
  /** The weights are changed once more before they meet v (dropout, heads mixed): the output is not weights · v. */
  changed?: boolean;
}

/** A tensor as a stack of matrices: its leading axes count samples and heads, the last two are rows and columns. */
export interface Tensor {
  /** What the user called it, or its code; "" where it has neither. */
  name: string;
  codes: Code[];
  shape: number[];
  /** The name of each axis, null where it is not known. */
  axes: (string | null)[];
  dtype: string;
  /** What rows and columns count: "query", "key", "feature", "token" or "". */
  rows: Counted;
  cols: Counted;
  /** Samples and heads: the stack holds samples × heads matrices, heads fastest. */
  samples: number;
  heads: number;
  /** The size of one whole matrix. */
  height: number;
  width: number;
  picture: Picture | null;
  /** For weights whose matrices are pooled or rounded: the largest keys of each query, exactly. */
  top: Top | null;
  /** Smallest and largest finite number, over the whole tensor; of "masked" over what is not hidden: less is hidden. */
  min: number | null;
  max: number | null;
  /** The program kept it to itself (one fused call): worked out again, in float64, from what the call was given. */
  computed?: boolean;
}

export type Counted = "query" | "key" | "feature" | "token" | "";

/** The numbers of a tensor. */
export interface Picture {
  /**
   * "f32": as they are, whole, 4 bytes each, little-endian.
   * "u8": a byte each, for images: value = low + byte × (high - low) / 255, with the bounds of its matrix; only every
   * `step`-th byte is used (6 bits: step 4). 255 is the largest; not finite numbers are told by `mask`.
   */
  kind: "f32" | "u8";
  /** Which matrices are here: samples and heads from the first on. */
  samples: number;
  heads: number;
  /** Size of one matrix here. Smaller than the whole one where `pool` > 1: each cell is then the mean of pool × pool. */
  height: number;
  width: number;
  pool: number;
  /** For "u8": the smallest and the largest of each matrix, samples × heads × 2 numbers. */
  bounds: number[];
  /** For "u8": see `kind`. */
  step?: number;
  /** One blob of raw deflate for each sample; matrices of its heads one after another. */
  blobs: Blob[];
}

/** Bytes, compressed with raw deflate: in base64 here, or by the id of an element of the page that holds it. */
export type Blob = { base64: string } | { element: string };

export interface Top {
  /** How many keys for each query. */
  count: number;
  /** For each sample a blob: heads × queries × count of uint16 keys, then as many float32 weights. */
  blobs: Blob[];
}

export interface Rest {
  code: Code | null;
  does: Both;
  shapes: string[];
  times: number;
}

export interface Finding {
  code: string;
  slug: string;
  file: number;
  line: number;
  end_line: number;
  message: Both;
  /** Lines of numbers that bear it out. */
  evidence: Both[];
  /** What mends it, in words or as the lines that it would have; null where there is none. */
  fix: Both | null;
  /** It may be meant so: told without being called a fault. */
  note?: boolean;
}

export interface Why {
  topic: string;
  title: Both;
  /** The answer, laid out in lines; null where it is to be asked for. */
  text: Both | null;
}
