import { useLayoutEffect, useRef } from "preact/hooks";
import { bitmap } from "../canvas";
import { palette, type Scale } from "../colour";
import type { Matrix } from "../data/matrix";
import { number } from "../format";
import type { Attention } from "./atlas";
import type { Numbers } from "./numbers";
import { Queries } from "./queries";
import { fits, type Extent, type MapState, type Row } from "./state";
import { visible, type Word } from "./text";

/** The longest side of the picture, and how large a weight is drawn at most. */
const MOST = 640;
const CELL = 30;
/** From this size on, a row or column has room for its word. */
const WORD = 13;
const MARGIN = { left: 64, top: 60 };

/** The map of the head in hand: rows are queries, columns are keys. */
export function Picture({ state, room }: { state: MapState; room: number }) {
  const layer = state.layer.value;
  const numbers = state.numbers.value;
  const extent = state.extent.value;
  const exact = state.window.value;
  const size = sizeOf(extent, room - MARGIN.left);
  const shown = exact ? asked(exact, extent) : numbers ? pooled(numbers, layer, state.pooling.value) : null;
  const scale = shown && scaleOf(shown.matrix);
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = state.dark.value;
  useLayoutEffect(() => {
    if (canvas.current && shown && scale) draw(canvas.current, shown, scale, extent, size, dark);
  }, [shown?.matrix, extent, size.width, size.height, dark]);

  const cellAt = (event: { offsetX: number; offsetY: number }) => ({
    query: extent.rows[0] + Math.floor((event.offsetY / size.height) * (extent.rows[1] - extent.rows[0])),
    key: extent.keys[0] + Math.floor((event.offsetX / size.width) * (extent.keys[1] - extent.keys[0])),
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const { query, key } = state.cell.peek();
    const step = steps(layer, state.live !== null)[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (step) state.go({ query: query + step[0], key: key + step[1] });
    else if (event.key === "Escape") state.pinned.value = false;
    else if (state.live && (event.key === "+" || event.key === "=" || event.key === "-")) state.zoom(event.key !== "-");
    else return;
    event.preventDefault();
  };
  const head = state.say("map.page.head", { layer: layer.index, head: layer.heads[state.headAt.value] ?? 0 });
  return (
    <figure class="map" style={{ "--left": `${MARGIN.left}px`, "--over": `${MARGIN.top}px` }}>
      <span class="across" aria-hidden="true">
        {state.say("map.page.picture.keys")} →
      </span>
      <span class="down" aria-hidden="true">
        {state.say("map.page.picture.queries")} →
      </span>
      <Ticks state={state} extent={extent} size={size} />
      <div
        class="matrix"
        style={{ width: `${size.width}px`, height: `${size.height}px` }}
        tabIndex={0}
        role="application"
        aria-roledescription={state.say("page.picture.matrix")}
        aria-label={state.say("map.page.picture.label", { head, queries: layer.queries, keys: layer.keys })}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => state.point(cellAt(event))}
        onClick={(event) => state.pin(cellAt(event))}
        onDblClick={() => state.live && layer.side > 1 && state.zoom(true)}
      >
        <canvas ref={canvas} style={{ width: `${size.width}px`, height: `${size.height}px` }} aria-hidden="true" />
        <Marks state={state} extent={extent} size={size} />
      </div>
      <figcaption>
        <Cell state={state} numbers={numbers ?? null} exact={exact ?? null} />
        {scale && <Legend state={state} scale={scale} />}
        <Says state={state} />
        <p class="hint">{state.say(state.pinned.value ? "map.page.picture.pinned" : "map.page.picture.hint")}</p>
        <Queries state={state} />
      </figcaption>
    </figure>
  );
}

interface Size {
  width: number;
  height: number;
}

function sizeOf({ rows, keys }: Extent, room: number): Size {
  const [high, wide] = [rows[1] - rows[0], keys[1] - keys[0]];
  const most = Math.max(120, Math.min(room, MOST));
  const unit = Math.min(most / wide, MOST / high, CELL);
  // However few queries meet however many keys, there is something to point at.
  return { width: Math.max(unit * wide, Math.min(60, most)), height: Math.max(unit * high, 40) };
}

/** A picture, and the place of its first cell among queries and keys. */
interface Shown {
  matrix: Matrix;
  row: number;
  key: number;
}

const made = new WeakMap<Float32Array, Shown>();

function pooled(numbers: Numbers, layer: Attention, pooling: "mean" | "max"): Shown {
  const data = numbers[pooling];
  let found = made.get(data);
  if (!found) {
    const { height, width } = numbers;
    const all = { rows: height * layer.side, cols: width * layer.side, height, width, pool: layer.side };
    const exact = layer.exact && layer.side === 1;
    made.set(data, (found = { matrix: { ...all, exact, data, low: 0, high: 1 }, row: -(layer.first % layer.side), key: 0 }));
  }
  return found;
}

function asked(data: Float32Array, { rows, keys }: Extent): Shown {
  let found = made.get(data);
  if (!found) {
    const [height, width] = [rows[1] - rows[0], keys[1] - keys[0]];
    const matrix = { rows: height, cols: width, height, width, pool: 1, exact: true, data, low: 0, high: 1 };
    made.set(data, (found = { matrix, row: rows[0], key: keys[0] }));
  }
  return found;
}

const highest = new WeakMap<Matrix, Scale>();

function scaleOf(matrix: Matrix): Scale {
  let found = highest.get(matrix);
  if (!found) {
    const most = (matrix.data as Float32Array).reduce((a, b) => Math.max(a, b), 0);
    highest.set(matrix, (found = { kind: "share", low: 0, high: most || 1, gamma: matrix.cols > 32 ? 0.5 : 1 }));
  }
  return found;
}

function draw(canvas: HTMLCanvasElement, shown: Shown, scale: Scale, { rows, keys }: Extent, size: Size, dark: boolean): void {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  [canvas.width, canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  const context = canvas.getContext("2d");
  if (!context) return;
  const { matrix } = shown;
  const [wide, high] = [canvas.width / (keys[1] - keys[0]), canvas.height / (rows[1] - rows[0])];
  context.imageSmoothingEnabled = wide * matrix.pool < 1 || high * matrix.pool < 1;
  context.imageSmoothingQuality = "high";
  const [x, y] = [(shown.key - keys[0]) * wide, (shown.row - rows[0]) * high];
  context.drawImage(bitmap(matrix, scale, dark), x, y, matrix.cols * wide, matrix.rows * high);
}

function steps({ queries, keys, every, side }: Attention, live: boolean): Record<string, [number, number]> {
  const row = live ? 1 : every;
  const page = Math.max(row * 8, side);
  return {
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    ArrowUp: [-row, 0],
    ArrowDown: [row, 0],
    Home: [0, -keys],
    End: [0, keys],
    PageUp: [-Math.min(page, queries), 0],
    PageDown: [Math.min(page, queries), 0],
  };
}

/** The query in hand as a row, its largest keys above and in it, and the cell. */
function Marks({ state, extent: { rows, keys }, size }: { state: MapState; extent: Extent; size: Size }) {
  const { query, key } = state.cell.value;
  const [wide, high] = [size.width / (keys[1] - keys[0]), size.height / (rows[1] - rows[0])];
  const inside = (at: number, [start, stop]: [number, number]) => at >= start && at < stop;
  if (!inside(query, rows)) return null;
  const box = (at: number, unit: number, whole: number) => {
    const length = Math.max(unit, 3);
    return [Math.max(0, Math.min(at * unit + (unit - length) / 2, whole - length)), length] as const;
  };
  const [top, height] = box(query - rows[0], high, size.height);
  const place = (at: number) => {
    const [left, width] = box(at - keys[0], wide, size.width);
    return { left: `${left}px`, width: `${width}px` };
  };
  const tops = state.row.value?.tops ?? [];
  return (
    <>
      <i class="mark row" style={{ top: `${top}px`, height: `${height}px`, left: "0", width: `${size.width}px` }} />
      {tops.map((found) => inside(found.key, keys) && <i class="mark key" style={place(found.key)} />)}
      {inside(key, keys) && <i class="mark cell own" style={{ ...place(key), top: `${top}px`, height: `${height}px` }} />}
    </>
  );
}

/** Words beside rows and columns that have room for them; else numbers of some. */
function Ticks({ state, extent: { rows, keys }, size }: { state: MapState; extent: Extent; size: Size }) {
  const first = state.layer.value.first;
  const high = size.height / (rows[1] - rows[0]);
  const wide = size.width / (keys[1] - keys[0]);
  const down = ticks(rows, high).map((at) => ({ at, word: high >= WORD ? state.queryWord(at) : undefined, name: first + at }));
  const across = ticks(keys, wide).map((at) => ({ at, word: wide >= WORD ? state.keyWord(at) : undefined, name: at }));
  return (
    <>
      <div class="ticks rows" aria-hidden="true">
        {down.map(({ at, word, name }) => (
          <i class={kind(word)} style={{ top: `${(at - rows[0] + 0.5) * high}px` }}>
            {word ? visible(word.text) : name}
          </i>
        ))}
      </div>
      <div class="ticks cols" aria-hidden="true">
        {across.map(({ at, word, name }) => (
          <i class={kind(word)} style={{ left: `${(at - keys[0] + 0.5) * wide}px` }}>
            {word ? visible(word.text) : name}
          </i>
        ))}
      </div>
    </>
  );
}

function kind(word: Word | undefined): string {
  return word?.kind === "x" ? "special" : word?.kind === "s" ? "space" : "";
}

/** All of them where they have room, else some that are round. */
function ticks([start, stop]: [number, number], unit: number): number[] {
  let step = 1;
  for (const factor of cycle([2, 2.5, 2])) {
    if (step * unit >= (unit >= WORD ? WORD : 44)) break;
    step = Math.round(step * factor);
  }
  const first = Math.ceil(start / step) * step;
  return Array.from({ length: Math.max(0, Math.ceil((stop - first) / step)) }, (_, index) => first + index * step);
}

function* cycle(factors: number[]): Generator<number> {
  for (let at = 0; ; at++) yield factors[at % factors.length] ?? 2;
}

/** The cell in hand in words and numbers. */
function Cell({ state, numbers, exact }: { state: MapState; numbers: Numbers | null; exact: Float32Array | null }) {
  const { query, key } = state.cell.value;
  const { first, side } = state.layer.value;
  const names = { query: first + query, key };
  const row = state.row.value;
  const weight = weightOf(row, key) ?? within(exact, state.extent.value, query, key);
  if (weight !== undefined) return <p class="pointed">{state.say("map.page.picture.weight", { ...names, weight: number(weight) })}</p>;
  const about = row?.every?.[key];
  if (about !== undefined) return <p class="pointed">{state.say("map.page.picture.about", { ...names, weight: number(about, 2) })}</p>;
  if (!numbers) return <p class="pointed">…</p>;
  const at = Math.floor(((first % side) + query) / side) * numbers.width + Math.floor(key / side);
  const [mean, max] = [number(numbers.mean[at] ?? NaN, 5), number(numbers.max[at] ?? NaN)];
  return <p class="pointed">{state.say("map.page.picture.cell", { ...names, side, mean, max })}</p>;
}

/** The weight of a key, where it is known for certain. */
function weightOf(row: Row | null, key: number): number | undefined {
  return row?.tops.find((top) => top.key === key)?.weight ?? (row?.exact ? row.every?.[key] : undefined);
}

function within(exact: Float32Array | null, { rows, keys }: Extent, query: number, key: number): number | undefined {
  if (!exact || query < rows[0] || query >= rows[1] || key < keys[0] || key >= keys[1]) return undefined;
  return exact[(query - rows[0]) * (keys[1] - keys[0]) + key - keys[0]];
}

function Legend({ state, scale }: { state: MapState; scale: Scale }) {
  return (
    <p class="legend">
      <span class="end">{number(scale.low, 2)}</span>
      <i class="bar" style={{ background: palette(state.dark.value).gradient(scale) }} aria-hidden="true" />
      <span class="end">{number(scale.high, 2)}</span>
    </p>
  );
}

/** What a cell of the picture is; and, where a server can be asked, how to look closer. */
function Says({ state }: { state: MapState }) {
  const { side, exact } = state.layer.value;
  const extent = state.extent.value;
  const asked = state.window.value;
  const waiting = state.live !== null && side > 1 && fits(extent) && asked === undefined;
  const lost = state.live !== null && side > 1 && fits(extent) && asked === null;
  const pooled = state.say(`map.page.picture.${state.pooling.value}`, { side });
  const says = asked
    ? state.say("map.page.picture.asked")
    : side > 1
      ? pooled
      : state.say(exact ? "map.page.picture.exact" : "map.page.picture.rounded");
  return (
    <>
      <p class={`says${asked || (side === 1 && exact) ? " exact" : ""}`} aria-live="polite">
        {says}
        {waiting && ` ${state.say("map.page.picture.waiting")}`}
        {lost && ` ${state.say("map.page.picture.lost")}`}
      </p>
      {state.live && side > 1 && (
        <p class="zoom" role="group" aria-label={state.say("map.page.zoom.title")}>
          <button type="button" onClick={() => state.zoom(true)}>
            ＋ {state.say("map.page.zoom.closer")}
          </button>
          <button type="button" disabled={state.part.value === null} onClick={() => state.zoom(false)}>
            － {state.say("map.page.zoom.farther")}
          </button>
          <button type="button" disabled={state.part.value === null} onClick={() => (state.part.value = null)}>
            {state.say("map.page.zoom.whole")}
          </button>
        </p>
      )}
    </>
  );
}
