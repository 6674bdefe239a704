import type { Appearance, Theme } from "../appearance";
import type { Language } from "../scene";

const LANGUAGES: [Language, string, string][] = [
  ["zh", "中文", "zh-CN"],
  ["en", "English", "en"],
];
const THEMES: [Theme, string][] = [
  ["auto", "◐"],
  ["light", "☀"],
  ["dark", "☾"],
];

/** The head of a page: what it is of, and its languages and colours to choose. */
export function Top({ state, name, summary }: { state: Appearance; name: string; summary: string }) {
  const theme = state.theme.value;
  const next = THEMES[(THEMES.findIndex(([name]) => name === theme) + 1) % THEMES.length]?.[0] ?? "auto";
  return (
    <div class="top">
      <h1>{name}</h1>
      <p class="summary">{summary}</p>
      <div class="switches">
        <div class="choice" role="group" aria-label={state.say("page.top.language")}>
          {LANGUAGES.map(([language, name, tag]) => (
            <button
              type="button"
              lang={tag}
              aria-pressed={state.language.value === language}
              onClick={() => (state.language.value = language)}
            >
              {name}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="theme"
          aria-label={state.say("page.top.theme", { theme: state.say(`page.top.${theme}`) })}
          title={state.say("page.top.theme", { theme: state.say(`page.top.${theme}`) })}
          onClick={() => (state.theme.value = next)}
        >
          {THEMES.find(([name]) => name === theme)?.[1]}
        </button>
      </div>
    </div>
  );
}
