import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { palette, type Palette, type Scale } from "../colour";
import { number } from "../format";
import type { MapState, Row } from "./state";
import { visible, type Reader, type Word } from "./text";

/** So many words are shown at once: of a longer text a leaf, and those before and behind it to turn to. */
const LEAF = 2500;

/** The text itself: each word in the colour of the weight that the query in hand gives it. */
export function Reading({ state }: { state: MapState }) {
  const { reader } = state;
  const { keys, queries } = state.reads.value;
  // The pictures come first: a text has many words.
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true));
    return () => clearTimeout(timer);
  }, []);
  if (!reader || !keys) return null;
  return (
    <section class="reading" aria-label={state.say("map.page.text.title")}>
      <div class="bar">
        <h2>{state.say("map.page.text.title")}</h2>
        <label>
          <input type="checkbox" checked={state.pieces.value} onChange={(event) => (state.pieces.value = event.currentTarget.checked)} />
          {state.say("map.page.text.pieces")}
        </label>
      </div>
      <p class="quiet">{said(state, queries)}</p>
      {ready && <Leaf state={state} reader={reader} />}
    </section>
  );
}

/** What the colours mean. */
function said(state: MapState, queries: boolean): string {
  const row = state.row.value;
  const how = row?.every ? "map.page.text.every" : "map.page.text.tops";
  return `${state.say(how, { count: row?.tops.length ?? 0 })} ${queries ? state.say("map.page.text.hint") : ""}`;
}

function Leaf({ state, reader }: { state: MapState; reader: Reader }) {
  const box = useRef<HTMLDivElement>(null);
  const layer = state.layer.value;
  const { queries } = state.reads.value;
  const { query, key } = state.cell.value;
  const at = reader.of[queries ? layer.first + query : key] ?? 0;
  const leaf = Math.floor(at / LEAF);
  const words = useMemo(() => reader.words(leaf * LEAF, LEAF), [reader, leaf]);
  const row = state.row.value;
  const dark = state.dark.value;
  useLayoutEffect(() => paint(box.current, leaf * LEAF, queries ? at : -1, weights(reader, row), palette(dark), row?.exact ? 4 : 2));

  const choose = (piece: number) => state.go({ query: piece - layer.first, key: state.cell.peek().key });
  const onClick = (event: MouseEvent) => {
    const word = wordAt(event, words);
    // Of a word in several pieces the last is chosen: it is the one that has read them all.
    if (word && queries) choose(word.start + word.size - 1);
  };
  const onPointerOver = (event: PointerEvent) => {
    const word = wordAt(event, words);
    if (word) state.go({ query: state.cell.peek().query, key: word.start });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 }[event.key];
    if (!step || !queries || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const every = state.live ? 1 : layer.every;
    choose(layer.first + state.cell.peek().query + step * every);
    requestAnimationFrame(() => box.current?.querySelector(".chosen")?.scrollIntoView({ block: "nearest" }));
  };
  return (
    <>
      <Turn state={state} reader={reader} leaf={leaf} choose={choose} />
      <div
        class={`words${state.pieces.value ? " with-pieces" : ""}`}
        ref={box}
        tabIndex={0}
        role="application"
        aria-label={state.say("map.page.text.label", { count: reader.count })}
        onClick={onClick}
        onPointerOver={onPointerOver}
        onKeyDown={onKeyDown}
      >
        <Words state={state} reader={reader} words={words} pieces={state.pieces.value} />
      </div>
    </>
  );
}

/** To the part before and behind, where the text is longer than what is shown. */
function Turn({ state, reader, leaf, choose }: { state: MapState; reader: Reader; leaf: number; choose: (piece: number) => void }) {
  const count = Math.ceil(reader.count / LEAF);
  if (count < 2) return null;
  const turn = (to: number) => choose(reader.words(to * LEAF, 1)[0]?.start ?? 0);
  return (
    <p class="turn">
      <button type="button" disabled={leaf === 0} aria-label={state.say("map.page.text.before")} onClick={() => turn(leaf - 1)}>
        ←
      </button>
      {state.say("map.page.text.leaf", { leaf: leaf + 1, count })}
      <button type="button" disabled={leaf === count - 1} aria-label={state.say("map.page.text.behind")} onClick={() => turn(leaf + 1)}>
        →
      </button>
    </p>
  );
}

/** The words; they are made once, and then only painted. */
function Words({ reader, words, pieces }: { state: MapState; reader: Reader; words: Word[]; pieces: boolean }) {
  return useMemo(
    () => (
      <>
        {words.map((word, index) => (
          <>
            {word.gap && " "}
            <span class={`word ${word.kind}`} data-at={index}>
              <span>{word.kind === "t" ? word.text : visible(word.text)}</span>
              {pieces && <small>{reader.pieces(word).map(visible).join(" ")}</small>}
            </span>
            {word.kind === "s" && word.text.includes("\n") && <br />}
          </>
        ))}
      </>
    ),
    [reader, words, pieces],
  );
}

function wordAt(event: Event, words: Word[]): Word | undefined {
  const element = event.target instanceof Element ? event.target.closest<HTMLElement>(".word") : null;
  return element ? words[Number(element.dataset.at)] : undefined;
}

/** The weight of each word that is known to have some: those of its pieces, summed. */
function weights(reader: Reader, row: Row | null): Map<number, number> {
  const found = new Map<number, number>();
  const add = (key: number, weight: number) => {
    const word = reader.of[key];
    if (word !== undefined && weight > 0) found.set(word, (found.get(word) ?? 0) + weight);
  };
  if (row?.every) row.every.forEach((weight, key) => add(key, weight));
  else row?.tops.forEach(({ key, weight }) => add(key, weight));
  return found;
}

/** Of weights whose share of the largest is less nothing is seen. */
const FAINT = 0.002;

function paint(box: HTMLElement | null, first: number, chosen: number, weights: Map<number, number>, colours: Palette, digits: number): void {
  if (!box) return;
  const high = Math.max(...weights.values(), 0) || 1;
  const scale: Scale = { kind: "share", low: 0, high, gamma: 0.5 };
  box.querySelectorAll<HTMLElement>(".word").forEach((element, index) => {
    const weight = weights.get(first + index) ?? 0;
    const seen = weight > FAINT * high;
    const [background, color] = seen ? [colours.css(scale, weight), colours.ink(scale, weight)] : ["", ""];
    if (element.style.background !== background) element.style.background = background;
    if (element.style.color !== color) element.style.color = color;
    const title = seen ? number(weight, digits) : "";
    if (element.title !== title) element.title = title;
    element.classList.toggle("chosen", first + index === chosen);
  });
}
