// The page of a map: what a model or a program attends to. It is frozen into a file, or asks a server.

import { render } from "preact";
import type { Words } from "./appearance";
import { FORMAT, type AtlasScene } from "./map/atlas";
import { Live, Refused } from "./map/live";
import { Page } from "./map/page";
import { MapState } from "./map/state";
import "./base.css";
import "./map/map.css";

const PAGE = "attnlab";

function mount(root: HTMLElement, scene: AtlasScene, words: Words, live: Live | null): void {
  if (scene.attnlab_atlas !== FORMAT) throw new Error(`atlas of format ${scene.attnlab_atlas}, not ${FORMAT}`);
  const state = new MapState(scene, words, live);
  root.classList.add("attnlab", "of-map");
  root.setAttribute("role", "main");
  render(<Page state={state} />, root);
  state.dress(root);
}

async function start(): Promise<void> {
  const read = (id: string) => document.getElementById(id)?.textContent;
  const [root, words, scene] = [document.getElementById(PAGE), read("attnlab-words"), read("attnlab-scene")];
  if (!root || !words) return;
  const known = JSON.parse(words) as Words;
  if (scene) return mount(root, JSON.parse(scene) as AtlasScene, known, null);
  const live = new Live();
  try {
    mount(root, await live.atlas(), known, live);
  } catch (error) {
    const spoken = document.documentElement.lang.startsWith("zh") ? "zh" : "en";
    const says = error instanceof Refused && error.status === 403 ? "map.page.live.token" : "map.page.live.gone";
    const text = document.createElement("p");
    text.role = "alert";
    text.textContent = known[spoken][says] ?? says;
    root.replaceChildren(text);
  }
}

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void start());
else void start();
