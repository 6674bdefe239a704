// What stands around the editor.

import { useEffect, useRef } from "preact/hooks";
import * as state from "./state";
import { language, say, type Slider } from "./state";

export interface Actions {
  slide(name: string, value: number): void;
  save(): void;
  restore(): void;
  go(line: number): void;
}

export function Playground({ editor, actions }: { editor: HTMLElement; actions: Actions }) {
  return (
    <>
      <Bar actions={actions} />
      <Sliders actions={actions} />
      <Held element={editor} />
      <p class="play-hint">{say("keys.hint")}</p>
      <Trouble actions={actions} />
      <Printed />
    </>
  );
}

function Bar({ actions }: { actions: Actions }) {
  const status = state.status.value;
  const notice = state.notice.value;
  const savable = state.savable.value;
  return (
    <div class="play-bar">
      <h2>
        {state.name}
        {savable && state.dirty.value && <span title={say("unsaved")} aria-label={say("unsaved")}> ●</span>}
      </h2>
      <div class="play-buttons">
        {state.dirty.value && (
          <button type="button" title={say("original_hint")} onClick={actions.restore}>
            {say("original")}
          </button>
        )}
        <button type="button" title={savable ? say("save_key") : undefined} onClick={actions.save}>
          {say(savable ? "save" : "save_as")}
        </button>
      </div>
      <p class={`play-status ${status}`} role="status">
        {say(status)}
      </p>
      <p class={`play-notice ${notice?.bad ? "bad" : ""}`} role="status" hidden={!notice}>
        {notice?.says(language.value)}
      </p>
    </div>
  );
}

function Sliders({ actions }: { actions: Actions }) {
  const sliders = state.sliders.value;
  if (sliders.length === 0) return null;
  return (
    <div class="play-sliders" role="group" aria-label={say("sliders")}>
      {sliders.map((slider) => (
        <Slide key={slider.name} slider={slider} actions={actions} />
      ))}
    </div>
  );
}

function Slide({ slider, actions }: { slider: Slider; actions: Actions }) {
  const { name, value, seed, max } = slider;
  const least = seed ? 0 : 1;
  const label = seed && name === "seed" ? say("seed") : name;
  const moved = (event: Event) => {
    const asked = Math.round(Number((event.currentTarget as HTMLInputElement).value));
    if (asked >= least && Number.isSafeInteger(asked)) actions.slide(name, asked);
  };
  return (
    <div class="play-slider">
      <span class="name">{label}</span>
      <input type="range" min={least} max={max} value={value} aria-label={label} onInput={moved} />
      <input type="number" min={least} value={value} aria-label={label} onInput={moved} />
    </div>
  );
}

/** An element that is made elsewhere. */
function Held({ element }: { element: HTMLElement }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.replaceChildren(element), [element]);
  return <div class="play-editor" ref={box} />;
}

function Trouble({ actions }: { actions: Actions }) {
  const problem = state.problem.value?.(language.value);
  const note = state.note.value;
  return (
    <div class="play-trouble" role="alert">
      {problem && (
        <section aria-label={say("problem")}>
          <h3>
            {problem.title}
            {problem.line !== null && (
              <button type="button" onClick={() => actions.go(problem.line ?? 1)}>
                {say("line", { line: problem.line })}
              </button>
            )}
          </h3>
          {problem.text && <pre tabIndex={0}>{problem.text}</pre>}
        </section>
      )}
      {note && <p>{note[language.value]}</p>}
    </div>
  );
}

/** So many characters are shown: what was printed may be a megabyte. */
const SHOWN = 20000;

function Printed() {
  const text = state.printed.value;
  if (!text) return null;
  return (
    <section class="play-printed" aria-label={say("printed")}>
      <h3>{say("printed")}</h3>
      <pre tabIndex={0}>{text.length > SHOWN ? `${text.slice(0, SHOWN)}\n…` : text}</pre>
    </section>
  );
}
