import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { palette, type Scale } from "../colour";
import { number } from "../format";
import { shortened } from "../labels";
import type { Attention } from "./atlas";
import { cells, smallOf } from "./numbers";
import type { MapState, Shown } from "./state";

const SHOWN: Shown[] = ["maps", "start", "entropy", "previous", "recent"];
/** The small pictures are of bytes, which are roots already. */
const BYTES: Scale = { kind: "share", low: 0, high: 255, gamma: 1 };

/** All layers and heads, a row for each layer: small pictures, or a number. */
export function Grid({ state }: { state: MapState }) {
  const box = useRef<HTMLDivElement>(null);
  const { layers } = state.scene;
  const heads = Math.max(...layers.map((layer) => layer.heads.length));
  const short = shortened(layers.map((layer) => layer.name));
  const shown = state.shown.value;

  const onKeyDown = (event: KeyboardEvent) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined || right === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    state.choose(state.layerAt.peek() + down, state.headAt.peek() + right);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>("button[aria-pressed=true]")?.focus());
  };
  return (
    <section class="overview" aria-label={state.say("map.page.grid.title")}>
      <div class="bar">
        <h2>{state.say("map.page.grid.title")}</h2>
        <select
          aria-label={state.say("map.page.grid.shows")}
          value={shown}
          onChange={(event) => (state.shown.value = event.currentTarget.value as Shown)}
        >
          {SHOWN.map((name) => (
            <option value={name}>{label(state, name)}</option>
          ))}
        </select>
      </div>
      <p class="quiet">{state.say(shown === "maps" ? "map.page.grid.maps_say" : `map.page.grid.${shown}_says`, { near: near(layers) })}</p>
      <div class="scrolled" ref={box} onKeyDown={onKeyDown}>
        <div class={`grid ${shown}`} style={{ "--heads": heads }}>
          {layers.map((layer, index) => (
            <Layer key={index} state={state} layer={layer} index={index} short={short[index] ?? ""} />
          ))}
        </div>
      </div>
      <Table state={state} />
    </section>
  );
}

function near(layers: Attention[]): number {
  return layers[0]?.near ?? 0;
}

function label(state: MapState, shown: Shown): string {
  return state.say(`map.page.grid.${shown}`, { near: near(state.scene.layers) });
}

interface LayerProps {
  state: MapState;
  layer: Attention;
  index: number;
  short: string;
}

/** A row; what it holds is made when it comes into view. */
function Layer({ state, layer, index, short }: LayerProps) {
  const row = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  const chosen = state.layerAt.value === index;
  useEffect(() => {
    if (!row.current || seen) return;
    const observer = new IntersectionObserver((found) => found.some((one) => one.isIntersecting) && setSeen(true), {
      rootMargin: "200px",
    });
    observer.observe(row.current);
    return () => observer.disconnect();
  }, [seen]);
  return (
    <div class="row" ref={row}>
      <span class="text" title={layer.name}>
        {short}
      </span>
      {(seen || chosen) && <Heads state={state} layer={layer} index={index} />}
    </div>
  );
}

function Heads({ state, layer, index }: Omit<LayerProps, "short">) {
  const shown = state.shown.value;
  const blob = layer.small[Math.min(state.sample.value, layer.samples - 1)];
  const buffer = shown === "maps" && blob ? state.store.get(blob) : null;
  const pictures = buffer ? smallOf(buffer, layer) : null;
  const size = cells(layer, layer.small_side);
  const dark = state.dark.value;
  const scale = scaleOf(state, shown);
  const colours = palette(dark);
  return (
    <>
      {layer.heads.map((head, place) => {
        const on = state.layerAt.value === index && state.headAt.value === place;
        const label = state.say("map.page.head", { layer: layer.index, head });
        const value = shown === "maps" ? null : (layer.facts[place]?.[shown] ?? null);
        const paint = value === null ? {} : { background: colours.css(scale, value), color: colours.ink(scale, value) };
        return (
          <button
            type="button"
            aria-label={shown === "maps" ? label : `${label}: ${said(value)}`}
            title={layer.name ? `${label}\n${layer.name}` : label}
            aria-pressed={on}
            tabIndex={on ? 0 : -1}
            style={paint}
            onClick={() => state.choose(index, place)}
          >
            {shown === "maps" ? (
              <Small bytes={pictures?.[place]?.[state.pooling.value === "mean" ? 0 : 1]} size={size} dark={dark} />
            ) : (
              said(value)
            )}
          </button>
        );
      })}
    </>
  );
}

function said(value: number | null): string {
  return value === null ? "–" : value.toFixed(2);
}

/** Shares are of 1; entropy of the largest that there is. */
function scaleOf(state: MapState, shown: Shown): Scale {
  if (shown !== "entropy") return { kind: "share", low: 0, high: 1, gamma: 0.7 };
  const every = state.scene.layers.flatMap((layer) => layer.facts.map((facts) => facts.entropy ?? 0));
  return { kind: "share", low: 0, high: Math.max(...every) || 1, gamma: 1 };
}

interface SmallProps {
  bytes: Uint8Array | undefined;
  size: { height: number; width: number };
  dark: boolean;
}

function Small({ bytes, size: { height, width }, dark }: SmallProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || !bytes) return;
    [canvas.current.width, canvas.current.height] = [width, height];
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const colours = palette(dark);
    bytes.forEach((byte, index) => (pixels[index] = colours.of(BYTES, byte)));
    context.putImageData(image, 0, 0);
  }, [bytes, dark]);
  return <canvas ref={canvas} width={1} height={1} aria-hidden="true" />;
}

/** The numbers of the overview as a table. */
function Table({ state }: { state: MapState }) {
  const [open, setOpen] = useState(false);
  const { layers } = state.scene;
  const shown = state.shown.value === "maps" ? "start" : state.shown.value;
  const widest = layers.reduce((a, b) => (b.heads.length > a.heads.length ? b : a));
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{state.say("map.page.grid.table")}</summary>
      {open && (
        <div class="scrolled">
          <table class="numbers">
            <caption>{label(state, shown)}</caption>
            <thead>
              <tr>
                <th scope="col">{state.say("map.page.grid.layer")}</th>
                {widest.heads.map((head) => (
                  <th scope="col">{state.say("map.page.grid.head", { head })}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {layers.map((layer) => (
                <tr>
                  <th scope="row">{layer.name || layer.index}</th>
                  {layer.facts.map((facts) => (
                    <td>{facts[shown] === null ? "–" : number(facts[shown])}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}
