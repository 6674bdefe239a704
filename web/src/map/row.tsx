import { palette, type Scale } from "../colour";
import { number } from "../format";
import type { MapState, Row } from "./state";
import { visible, type Word } from "./text";

/** The query in hand: its largest keys with their weights and words, and its numbers. */
export function Query({ state }: { state: MapState }) {
  const row = state.row.value;
  const layer = state.layer.value;
  const { query } = state.cell.value;
  const word = state.queryWord(query);
  return (
    <section class="work query" aria-label={state.say("map.page.row.title")} aria-live="polite">
      <h3>
        {state.say("map.page.row.query", { query: layer.first + query })} {word && <Named state={state} word={word} piece={layer.first + query} />}
      </h3>
      {row ? <About state={state} row={row} /> : <p class="quiet">…</p>}
    </section>
  );
}

function About({ state, row }: { state: MapState; row: Row }) {
  const layer = state.layer.value;
  if (Number.isNaN(row.entropy) && row.tops.length === 0) {
    const other = row.query % layer.every !== 0;
    return <p class="quiet">{state.say(other ? "map.page.row.waiting" : "map.page.row.none")}</p>;
  }
  const sum = row.tops.reduce((total, { weight }) => total + weight, 0);
  const least = row.tops.at(-1)?.weight ?? 0;
  const rest = Math.max(0, 1 - sum);
  return (
    <>
      <dl class="facts">
        <div>
          <dt>{state.say("map.page.row.entropy")}</dt>
          <dd>
            {number(row.entropy, 2)} <small>{state.say("map.page.row.spread", { keys: number(Math.exp(row.entropy), 1) })}</small>
          </dd>
        </div>
        <div>
          <dt>{state.say("map.page.row.start")}</dt>
          <dd>{number(row.start, 3)}</dd>
        </div>
        <div>
          <dt>{state.say("map.page.row.recent", { near: layer.near })}</dt>
          <dd>{number(row.recent, 3)}</dd>
        </div>
      </dl>
      <table class="terms upright tops">
        <caption>{state.say("map.page.row.tops", { count: row.tops.length })}</caption>
        <thead>
          <tr>
            <th scope="col">{state.say("map.page.row.key")}</th>
            {state.reads.value.keys && <th scope="col">{state.say("map.page.row.word")}</th>}
            <th scope="col">{state.say("map.page.row.weight")}</th>
            <th aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {row.tops.map(({ key, weight }) => (
            <Top key={key} state={state} place={key} weight={weight} />
          ))}
        </tbody>
      </table>
      {rest > 0.00005 && <p class="quiet">{state.say("map.page.row.rest", { sum: number(rest), least: number(least) })}</p>}
    </>
  );
}

const SHARE: Scale = { kind: "share", low: 0, high: 1, gamma: 0.6 };

function Top({ state, place, weight }: { state: MapState; place: number; weight: number }) {
  const word = state.keyWord(place);
  const colour = palette(state.dark.value).css(SHARE, weight);
  return (
    <tr class={state.cell.value.key === place ? "on" : ""}>
      <th scope="row">{place}</th>
      {word && (
        <td class="reads">
          <Named state={state} word={word} piece={place} />
        </td>
      )}
      <td>{number(weight)}</td>
      <td class="bar" aria-hidden="true">
        <i style={{ width: `${Math.max(1, 100 * weight)}%`, background: colour }} />
      </td>
    </tr>
  );
}

/** A word as it is read, and beneath it the pieces, where it is not one that says the same; the one in question marked. */
export function Named({ state, word, piece }: { state: MapState; word: Word; piece: number }) {
  const pieces = state.reader?.pieces(word) ?? [];
  const at = piece - word.start;
  return (
    <span class="named">
      <b class={`token ${word.kind}`}>{visible(word.text)}</b>
      {word.kind !== "t" && <small>{state.say(`map.page.kind.${word.kind}`)}</small>}
      {pieces.length > 1 ? (
        <small class="pieces" title={state.say("map.page.row.piece", { at: at + 1, count: pieces.length })}>
          {pieces.map((text, index) => (
            <code class={index === at ? "on" : ""}>{visible(text)}</code>
          ))}
        </small>
      ) : (
        pieces[0] !== word.text && (
          <small class="pieces">
            <code>{visible(pieces[0] ?? "")}</code>
          </small>
        )
      )}
    </span>
  );
}
