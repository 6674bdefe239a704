import { useEffect, useRef, useState } from "preact/hooks";
import type { Language } from "../scene";
import type { State, Theme } from "../state";
import { Atlas } from "./atlas";
import { Chooser } from "./chooser";
import { Flow } from "./flow";
import { Editor, Findings, Source } from "./source";
import { Stage } from "./stage";
import { Explanation, Failure, More, Overview, Stepper } from "./told";
import { WhyTopics } from "./why";
import { WorkedOut } from "./work";

// From this width on, the words stand beside the pictures, in a column of their own.
const BOTH = 800;
const WORDS = 320;
const APART = 32;

export function Page({ state }: { state: State }) {
  const [room, box] = useWidth();
  const told = state.told.value;
  const pictures = room >= BOTH ? room - WORDS - APART : room;
  return (
    <>
      <Top state={state} />
      <div class="panes">
        <div class="left">
          {state.options.editor ? (
            <>
              <Editor element={state.options.editor} />
              <Findings state={state} />
            </>
          ) : (
            <Source state={state} />
          )}
        </div>
        <div class="right" ref={box}>
          <Failure state={state} />
          {told && room > 0 && (
            <>
              <Overview state={state} />
              <Flow state={state} room={room} />
              <div class="choices">
                <Stepper state={state} />
                <Chooser state={state} />
              </div>
              <Atlas state={state} />
              <div class={`hand${room >= BOTH ? " both" : ""}`} style={{ "--words": `${WORDS}px`, "--gap": `${APART}px` }}>
                <div class="shown">
                  <Stage state={state} room={pictures} />
                  <WorkedOut state={state} room={pictures} />
                </div>
                <Explanation state={state} />
              </div>
            </>
          )}
          <WhyTopics state={state} />
          <More state={state} />
        </div>
      </div>
    </>
  );
}

/** How wide an element is, now and whenever it changes. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => {
      const style = getComputedStyle(element);
      setWidth(Math.floor(element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [width, box] as const;
}

const LANGUAGES: [Language, string, string][] = [
  ["zh", "中文", "zh-CN"],
  ["en", "English", "en"],
];
const THEMES: [Theme, string][] = [
  ["auto", "◐"],
  ["light", "☀"],
  ["dark", "☾"],
];

function Top({ state }: { state: State }) {
  const scene = state.scene.value;
  const theme = state.theme.value;
  const next = THEMES[(THEMES.findIndex(([name]) => name === theme) + 1) % THEMES.length]?.[0] ?? "auto";
  return (
    <div class="top">
      <h1>{scene.program}</h1>
      <p class="summary">{scene.summary.map((text) => state.text(text)).join(" · ")}</p>
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
