import { Top } from "../view/top";
import { useWidth } from "../view/width";
import { Grid } from "./grid";
import { Picture } from "./picture";
import { Reading } from "./reading";
import { Query } from "./row";
import type { MapState, Pooling } from "./state";
import { Story } from "./story";

/** From this width on, the query in hand stands beside the picture. */
const BOTH = 860;
const WORDS = 340;

export function Page({ state }: { state: MapState }) {
  const { scene } = state;
  const [room, box] = useWidth();
  const both = room >= BOTH;
  return (
    <>
      <Top state={state} name={scene.name} summary={state.text(scene.summary)} />
      <Story state={state} />
      {scene.layers.length > 0 && (
        <div class="panes">
          <div class="left">
            <Grid state={state} />
          </div>
          <div class="right" ref={box}>
            <Head state={state} />
            {room > 0 && (
              <div class={`hand${both ? " both" : ""}`} style={{ "--words": `${WORDS}px`, "--gap": "28px" }}>
                <div class="shown">
                  <Picture state={state} room={both ? room - WORDS - 28 : room} />
                </div>
                <Query state={state} />
              </div>
            )}
            <Reading state={state} />
            <Notes state={state} />
          </div>
        </div>
      )}
      {scene.layers.length === 0 && <Notes state={state} />}
    </>
  );
}

const POOLINGS: Pooling[] = ["mean", "max"];

/** The head in hand, its numbers, and what of it to choose. */
function Head({ state }: { state: MapState }) {
  const layer = state.layer.value;
  const { start, entropy, previous, recent, kind } = state.facts.value;
  const said = (value: number | null) => (value === null ? "–" : value.toFixed(2));
  const facts: [string, string][] = [
    [state.say("map.page.grid.start"), said(start)],
    [state.say("map.page.grid.entropy"), said(entropy)],
    [state.say("map.page.grid.previous"), said(previous)],
    [state.say("map.page.grid.recent", { near: layer.near }), said(recent)],
  ];
  return (
    <header class="head">
      <h2>
        {state.say("map.page.head", { layer: layer.index, head: layer.heads[state.headAt.value] ?? 0 })}
        {layer.name && <code>{layer.name}</code>}
      </h2>
      {(state.facts.value.sink !== null || kind) && (
        <p class="kinds">
          {state.facts.value.sink !== null && <span>{state.say("map.page.kind.sink")}</span>}
          {kind && <span>{state.say(`map.page.kind.${kind}`)}</span>}
        </p>
      )}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div class="switches">
        {state.samples > 1 && (
          <label>
            {state.say("map.page.sample")}{" "}
            <select value={state.sample.value} onChange={(event) => (state.sample.value = Number(event.currentTarget.value))}>
              {Array.from({ length: state.samples }, (_, sample) => (
                <option value={sample}>{sample}</option>
              ))}
            </select>
          </label>
        )}
        {layer.side > 1 && (
          <div class="choice" role="group" aria-label={state.say("map.page.pooling.title")}>
            {POOLINGS.map((pooling) => (
              <button type="button" aria-pressed={state.pooling.value === pooling} onClick={() => (state.pooling.value = pooling)}>
                {state.say(`map.page.pooling.${pooling}`)}
              </button>
            ))}
          </div>
        )}
      </div>
    </header>
  );
}

/** What a reader must know of what is here and what is not. */
function Notes({ state }: { state: MapState }) {
  const { layers, notes } = state.scene;
  const layer = layers[state.layerAt.value];
  return (
    <footer class="more">
      {layer && (
        <p class="note">
          {state.say("map.page.notes.top", { top: layer.top })}
          {layer.every > 1 && ` ${state.say(state.live ? "map.page.notes.asked" : "map.page.notes.every", { every: layer.every })}`}
        </p>
      )}
      {layer && !layer.exact && <p class="note">{state.say("map.page.notes.rounded")}</p>}
      {notes.map((note) => (
        <p class="note">{state.text(note)}</p>
      ))}
    </footer>
  );
}
