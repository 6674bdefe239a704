// What a map's page shows, as data: written by `src/attnlab/scene/atlas.py`. Plain JSON, format 1.
//
// Nothing in it is HTML. Every string may hold what a user wrote, and lands on the page as text.

import type { Blob, Both, Language } from "../scene";

export const FORMAT = 1;

export interface AtlasScene {
  attnlab_atlas: typeof FORMAT;
  /** The language to show first. */
  lang: Language;
  /** The name of the model or program. */
  name: string;
  /** How many attentions there are, over how long a text, in which time. */
  summary: Both;
  /** What there is to tell of the heads, sinks first. */
  story: Told[];
  /** null where there is no tokenizer. */
  text: Reading | null;
  layers: Attention[];
  /** What a reader must know: what is pooled, what is left out. */
  notes: Both[];
}

/** A text in pieces, as the tokenizer names them; and in words, characters or signs, as a person reads it. */
export interface Reading {
  pieces: string[];
  words: string[];
  /** How many pieces each word is made of. */
  sizes: number[];
  /** A letter for each word: "t" text, "s" white space alone, "x" a token of the model's own. */
  kinds: string;
  /** For each word "1" where white space stands before it in the text, and is no word of its own; else "0". */
  gaps: string;
}

export interface Told {
  says: Both;
  /** The heads that it is about, by the places of layer and head. */
  heads: [number, number][];
}

/** Numbers of one head, means over samples and queries after the first; null where no query sees a key. */
export interface Facts {
  /** The weight of the first key. */
  start: number | null;
  /** In nats. */
  entropy: number | null;
  /** The weight of the key before the query, at least: where it is among the largest that are kept. */
  previous: number | null;
  /** The weight of the last `near` keys. */
  recent: number | null;
  /** A rule that the head follows; "" where none can be told. */
  kind: "previous" | "itself" | "next" | "broad" | "";
  /** The key that takes most of the weight, if one does. */
  sink: number | null;
}

/**
 * The numbers of one head and sample. The blob holds, one after another (maps row by row, all else a number for each
 * query that is held):
 *
 *   the mean and, where `side` > 1, the largest weight of each cell
 *   entropy, weight of the first key, weight of the last `near` keys
 *   the weights of each rank
 *   the keys of each rank + 1, 0 where the query sees fewer
 *
 * `exact`: as float32, keys as int32. Else maps are bytes, each √(number ÷ the one below) · 255; the three numbers are
 * uint16, entropy ÷ ln(keys) · 65520 (65535: the query sees no key) and √weight · 65520; weights are √weight · 65535.
 * Each of these lines stands in planes: the upper bytes of all, then the lower ones; keys in as many as they need.
 */
export interface Held {
  blob: Blob;
  /** What 255 stands for in the map of means, and in that of the largest. */
  mean: number;
  max: number;
}

export interface Attention {
  /** Its place among all of the model, and the path of its module; "" where it has none. */
  index: number;
  name: string;
  /** The numbers of the heads. */
  heads: number[];
  /** How many samples are here. */
  samples: number;
  queries: number;
  keys: number;
  /** The number of the first query: behind a cache it is not 0. */
  first: number;
  /** A cell of the maps stands for side × side weights; the first cell begins at query first - first % side. */
  side: number;
  near: number;
  /** How many keys of each query are held, and of every how many queries. */
  top: number;
  every: number;
  exact: boolean;
  /** Of each head. */
  facts: Facts[];
  /**
   * For each sample the small pictures of all heads, whose cells stand for small_side × small_side weights: bytes,
   * √(number ÷ the largest of its picture) · 255. Of each head the means and, where small_side > 1, the largest.
   */
  small: Blob[];
  small_side: number;
  /** Of each sample and head, heads fastest. */
  held: Held[];
}
