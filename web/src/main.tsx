import { effect } from "@preact/signals";
import { render } from "preact";
import type { Words } from "./appearance";
import { FORMAT, type Language, type Scene } from "./scene";
import { State, type Options } from "./state";
import { Page } from "./view/page";
import { litCodes } from "./view/source";
import "./base.css";
import "./page.css";

/** The element of a page of its own: there, the whole document is the component's. */
const PAGE = "attnlab";

/** A page that is shown. */
export interface Handle {
  /** Shows another scene; what is chosen stays chosen where it still exists. Resolved when it is drawn. */
  update(scene: Scene): Promise<void>;
  destroy(): void;
  language: Language;
  /** Lights up what a line makes, as pointing at it does; null: nothing. */
  highlight(line: number | null, file?: number): void;
  /** Goes to the step that a line belongs to. */
  go(line: number, file?: number): void;
}

export type { Options, Scene, Words };

/** Shows a scene in an element. `words` are the page's own sentences by language and id. */
function mount(root: HTMLElement, scene: Scene, words: Words, options: Options = {}): Handle {
  if (scene.attnlab_scene !== FORMAT) throw new Error(`scene of format ${scene.attnlab_scene}, not ${FORMAT}`);
  const state = new State(scene, words, options);
  root.classList.add("attnlab");
  // Moves the focus to the page when it is clicked, so that the arrow keys are its own.
  root.tabIndex = -1;
  if (root.id === PAGE && root.tagName !== "MAIN") root.setAttribute("role", "main");
  render(<Page state={state} />, root);

  const stops = [
    state.dress(root),
    effect(() => options.onHighlight?.(state.role.value ? litCodes(state) : state.codes())),
    listen(root, state),
  ];

  return {
    async update(next) {
      await state.replace(next);
      await new Promise<void>((resolve) => queueMicrotask(resolve));
    },
    destroy() {
      stops.forEach((stop) => stop());
      render(null, root);
      state.store.clear();
    },
    get language() {
      return state.language.value;
    },
    set language(language) {
      state.language.value = language;
    },
    highlight(line, file = 0) {
      state.place.value = line === null ? null : { file, line };
    },
    go(line, file = 0) {
      state.go({ file, line });
    },
  };
}

const TYPING = "input, textarea, select, [contenteditable='true'], [contenteditable='']";

/** The arrow keys, one step at a time: from anywhere on a page of its own, else from within the element. */
function listen(root: HTMLElement, state: State): () => void {
  const target: EventTarget = root.id === PAGE ? document : root;
  const onKeyDown = (event: Event) => {
    const { key, ctrlKey, altKey, metaKey, shiftKey } = event as KeyboardEvent;
    if (key === "Escape") state.pinned.value = false;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!step || ctrlKey || altKey || metaKey || shiftKey || event.defaultPrevented) return;
    if (event.target instanceof Element && (event.target.closest(TYPING) || scrolls(event.target))) return;
    event.preventDefault();
    state.setStep(state.stepAt.peek() + step);
  };
  target.addEventListener("keydown", onKeyDown);
  return () => target.removeEventListener("keydown", onKeyDown);
}

/** Whether the arrow keys move what is in an element. */
function scrolls(element: Element): boolean {
  return element.matches("[tabindex='0']") && element.scrollWidth > element.clientWidth;
}

declare global {
  interface Window {
    attnlab?: { mount: typeof mount };
  }
}

window.attnlab = { mount };

/** A page that was frozen into a file holds its scene and its words. */
function frozen(): void {
  const read = (id: string) => document.getElementById(id)?.textContent;
  const [root, scene, words] = [document.getElementById(PAGE), read("attnlab-scene"), read("attnlab-words")];
  if (root && scene && words) mount(root, JSON.parse(scene) as Scene, JSON.parse(words) as Words);
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", frozen);
else frozen();
