import { useState } from "preact/hooks";
import { number } from "../format";
import type { MapState } from "./state";
import { visible } from "./text";

/** How many queries the table has: those around the one in hand. */
const MOST = 32;

/** What is held of the queries, as a table. */
export function Queries({ state }: { state: MapState }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{state.say("map.page.table.title")}</summary>
      {open && <Table state={state} />}
    </details>
  );
}

function Table({ state }: { state: MapState }) {
  const layer = state.layer.value;
  const numbers = state.numbers.value;
  if (!numbers) return null;
  const count = numbers.entropy.length;
  const at = Math.floor(state.query.value / layer.every);
  const first = Math.max(0, Math.min(at - MOST / 2, count - MOST));
  const places = Array.from({ length: Math.min(MOST, count) }, (_, index) => first + index);
  const said = (word: { text: string } | undefined) => (word ? visible(word.text) : "");
  return (
    <div class="scrolled">
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">{state.say("map.page.table.query")}</th>
            <th scope="col">{state.say("map.page.row.word")}</th>
            <th scope="col">{state.say("map.page.row.entropy")}</th>
            <th scope="col">{state.say("map.page.row.start")}</th>
            <th scope="col">{state.say("map.page.row.recent", { near: layer.near })}</th>
            <th scope="col">{state.say("map.page.table.largest")}</th>
            <th scope="col">{state.say("map.page.row.word")}</th>
            <th scope="col">{state.say("map.page.row.weight")}</th>
          </tr>
        </thead>
        <tbody>
          {places.map((place) => {
            const key = numbers.keys[0]?.[place] ?? -1;
            return (
              <tr>
                <th scope="row">{layer.first + place * layer.every}</th>
                <td>{said(state.queryWord(place * layer.every))}</td>
                <td>{number(numbers.entropy[place] ?? NaN, 2)}</td>
                <td>{number(numbers.start[place] ?? NaN, 3)}</td>
                <td>{number(numbers.recent[place] ?? NaN, 3)}</td>
                <td>{key < 0 ? "–" : key}</td>
                <td>{said(state.keyWord(key))}</td>
                <td>{number(numbers.weights[0]?.[place] ?? NaN)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
