// What the playground knows: read by its views.

import { computed, signal } from "@preact/signals";
import type { Both, Language } from "../scene";

/** Of which text the picture is: of the one in the editor, of one that is being run, or of one that did not run. */
export type Picture = "none" | "fresh" | "late" | "stale";

/** A number in the program, and how far its slider goes. */
export interface Slider {
  name: string;
  value: number;
  seed: boolean;
  max: number;
}

/** Why the program as it stands has no picture. */
export interface Problem {
  title: string;
  line: number | null;
  text: string;
}

export const language = signal<Language>("en");
export const picture = signal<Picture>("none");
export const loading = signal(true);
export const checking = signal(false);
export const sliders = signal<Slider[]>([]);
export const problem = signal<((language: Language) => Problem) | null>(null);
export const note = signal<Both | null>(null);
export const printed = signal("");
export const name = signal("");
export const savable = signal(false);
export const dirty = signal(false);
/** What there is to say of the last save, or of the server. */
export const notice = signal<{ says: (language: Language) => string; bad: boolean } | null>(null);

export const status = computed(() => {
  if (picture.value === "none") return loading.value ? "starting" : "nothing";
  if (picture.value === "fresh" && checking.value) return "checking";
  return picture.value;
});

type Sentences = Record<Language, Record<string, string>>;
let sentences: Sentences = { zh: {}, en: {} };

export function use(words: Sentences): void {
  sentences = words;
}

/** A sentence of the playground's, in the language that is spoken or another one. */
export function say(id: string, params: Record<string, string | number> = {}, spoken = language.value): string {
  const text = sentences[spoken][`play.page.${id}`] ?? id;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));
}

/** What the editor says itself, under the names that it has for it: they are its English. */
export function phrases(spoken: Language): Record<string, string> {
  const own = Object.entries(sentences.en).filter(([id]) => id.startsWith("play.page.phrases."));
  return Object.fromEntries(own.map(([id, name]) => [name, sentences[spoken][id] ?? name]));
}

const highest = new Map<string, number>();

/** How far a slider goes: it stays so while it is moved. */
export function most(name: string, value: number, seed: boolean): number {
  const room = seed ? Math.max(100, value) : Math.max(16, Math.min(16 * 2 ** Math.ceil(Math.log2(value || 1)), 4096), value);
  const known = highest.get(name);
  if (known !== undefined && value <= known) return known;
  highest.set(name, room);
  return room;
}
