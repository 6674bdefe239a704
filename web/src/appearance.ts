import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Both, Language } from "./scene";

export type Words = Record<Language, Record<string, string>>;
export type Theme = "auto" | "light" | "dark";

const KEPT = "attnlab-theme";

/** The language and the colours of a page. The colours that a person chose are remembered where the browser lets it. */
export class Appearance {
  readonly language: Signal<Language>;
  readonly theme: Signal<Theme> = signal(kept());
  readonly systemDark = signal(false);
  readonly dark: ReadonlySignal<boolean> = computed(() =>
    this.theme.value === "auto" ? this.systemDark.value : this.theme.value === "dark",
  );

  constructor(
    language: Language,
    private readonly words: Words,
  ) {
    this.language = signal(language);
  }

  /** A sentence of the page, with its placeholders filled. */
  say(id: string, params: Record<string, string | number> = {}): string {
    const text = this.words[this.language.value][id] ?? id;
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(params[name] ?? whole));
  }

  /** A text of the data, in the language that is shown. */
  text(both: Both): string {
    return both[this.language.value];
  }

  /** Gives an element its language and its colours, now and when they change; calling what is returned ends that. */
  dress(root: HTMLElement): () => void {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => (this.systemDark.value = dark.matches);
    follow();
    dark.addEventListener("change", follow);
    const stops = [
      effect(() => void (root.dataset.theme = this.dark.value ? "dark" : "light")),
      effect(() => void (root.lang = this.language.value === "zh" ? "zh-CN" : "en")),
      effect(() => keep(this.theme.value)),
      () => dark.removeEventListener("change", follow),
    ];
    return () => stops.forEach((stop) => stop());
  }
}

// A page of a file, or one in a frame, may have no storage: it then begins as the system has it.

function kept(): Theme {
  try {
    const found = localStorage.getItem(KEPT);
    return found === "light" || found === "dark" ? found : "auto";
  } catch {
    return "auto";
  }
}

function keep(theme: Theme): void {
  try {
    if (theme === "auto") localStorage.removeItem(KEPT);
    else localStorage.setItem(KEPT, theme);
  } catch {
    // Nothing is remembered.
  }
}
