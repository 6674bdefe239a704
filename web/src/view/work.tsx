import { factor, number } from "../format";
import type { Role } from "../scene";
import type { State } from "../state";
import { work, type How, type Rest, type Work } from "../work";
import { element, symbol } from "./names";

const PADDING = 36;

/** The cell in hand, worked out with its numbers. */
export function WorkedOut({ state, room }: { state: State; room: number }) {
  const cell = state.cell.value;
  if (!cell) return null;
  const found = work(state, cell);
  return (
    <section class="work" aria-label={state.say("page.work.title")}>
      {found ? <Worked state={state} found={found} room={room - PADDING} /> : <p class="quiet">{state.say("page.work.none")}</p>}
      <p class="hint">{state.say(state.pinned.value ? "page.work.pinned" : "page.work.hint")}</p>
    </section>
  );
}

function Worked({ state, found, room }: { state: State; found: Work; room: number }) {
  const { cell, value, exact, how, top } = found;
  const name = element(state, cell.role, cell.row, cell.col);
  const sign = exact ? "=" : "≈";
  return (
    <>
      <p class="visually-hidden" aria-live="polite">
        {name} {sign} {number(value)} {meaning(state, found)}
      </p>
      <h3>
        <code>{name}</code> {sign} <b class="value">{number(value)}</b>
        {meaning(state, found) && <span class="meaning">{meaning(state, found)}</span>}
      </h3>
      {how && !agrees(how) && <p class="quiet">{state.say("page.work.differs")}</p>}
      {how && agrees(how) && <HowView state={state} found={found} how={how} sign={sign} room={room} />}
      {top && (
        <p class="top">
          {state.say("page.work.top", { count: top.length, row: cell.row })}
          {top.map(({ key, weight }) => (
            <span class={key === cell.col ? "on" : ""}>
              {state.say("page.at.key", { index: key })} <b>{number(weight)}</b>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

function meaning(state: State, { cell: { role, row, col } }: Work): string {
  const pairs: Role[] = ["scores", "scaled", "mask", "masked", "weights"];
  if (pairs.includes(role)) return state.say("page.work.pair", { query: row, key: col });
  const tensor = state.tensor(role);
  const of = (counted: string | undefined, index: number) => (counted ? state.say(`page.at.${counted}`, { index }) : "");
  return [of(tensor?.rows, row), of(tensor?.cols, col)].filter(Boolean).join(state.say("page.at.comma"));
}

function agrees(how: How): boolean {
  return how.kind === "turned" || how.agrees || (how.kind === "scale" && how.divisor === null);
}

/** "√8 (2.8284)", where a number is the root of a whole one. */
function root(value: number): string {
  const square = Math.round(value * value);
  const isRoot = !Number.isInteger(value) && Math.abs(value * value - square) < 1e-4;
  return isRoot ? `√${square} (${number(value)})` : number(value);
}

type Given<K extends How["kind"]> = {
  state: State;
  found: Work;
  how: Extract<How, { kind: K }>;
  sign: string;
  room: number;
};

function HowView({ state, found, how, sign, room }: Given<How["kind"]>) {
  const { value } = found;
  switch (how.kind) {
    case "dot":
      return <Dot state={state} found={found} how={how} sign={sign} room={room} />;
    case "softmax":
      return <Softmax state={state} found={found} how={how} sign={sign} room={room} />;
    case "scale":
      return (
        <p class="line">
          {how.divisor === null ? (
            <>
              {number(how.before)} → <b>{number(value)}</b>
            </>
          ) : (
            <>
              {number(how.before)} ÷ {root(how.divisor)} {sign} <b>{number(value)}</b>
            </>
          )}
        </p>
      );
    case "mask":
      return (
        <p class="line">
          {number(how.before)} → <b>{number(value)}</b>
          <span class="meaning">{state.say(value === how.before ? "page.work.seen" : "page.work.hidden")}</span>
        </p>
      );
    case "turned":
      return (
        <p class="line">
          = {element(state, how.from, how.row, how.col)}
          <span class="meaning">{state.say("page.work.turned")}</span>
        </p>
      );
  }
}

/** A row times a column: the terms beside each other, as one multiplies by hand. */
function Dot({ state, found, how, sign, room }: Given<"dot">) {
  const { cell } = found;
  const mix = how.left === "weights";
  const right = symbol(state, how.right);
  const column = how.right === "kt" ? element(state, "k", cell.col, null) : element(state, "v", null, cell.col);
  const plus = (text: string, first: boolean) => (first || text.startsWith("−") ? text : `+ ${text}`);
  const terms: Column[] = how.terms.map((term, index) => ({
    head: term.index,
    cells: [number(term.left), factor(term.right), plus(number(term.product), index === 0)],
  }));
  if (how.rest) terms.push({ head: others(state, how.rest), cells: ["", "", plus(number(how.rest.sum), false)] });
  const whole = how.factor === 1 ? "" : `${number(how.sum)} × ${factor(how.factor)} `;
  terms.push({ head: "", cells: ["", "", `${whole}${sign} ${number(how.sum * how.factor)}`], total: true });
  const params = { row: cell.row, col: cell.col, left: symbol(state, how.left), right };
  return (
    <>
      <p class="line">{state.say(mix ? "page.work.mix" : "page.work.dot", params)}</p>
      <Terms
        state={state}
        room={room}
        corner={state.say(mix ? "page.axis.key" : "page.axis.feature")}
        heads={[element(state, how.left, cell.row, null), `× ${column}`, "="]}
        columns={terms}
      />
    </>
  );
}

/** A row of scores, and the share of each: exp(s − max), over the sum. */
function Softmax({ state, found, how, sign, room }: Given<"softmax">) {
  const { cell, value } = found;
  const at = how.shares.find((share) => share.index === cell.col);
  const shares: Column[] = how.shares.map((share) => ({
    head: share.index,
    cells: [number(share.score), number(share.exp), number(share.weight)],
    on: share.index === cell.col,
  }));
  if (how.rest) {
    shares.push({ head: others(state, how.rest), cells: ["", number(how.rest.sum), number(how.rest.sum / how.sum)] });
  }
  shares.push({ head: state.say("page.work.sum"), cells: ["", number(how.sum), "1"], total: true });
  return (
    <>
      <p class="line">
        exp({number(at?.score ?? NaN)} − {factor(how.max)}) ÷ {number(how.sum)} {sign} <b>{number(value)}</b>
      </p>
      <Terms
        state={state}
        room={room}
        corner={state.say("page.axis.key")}
        heads={[`s = ${element(state, how.from, cell.row, null)}`, `exp(s − ${factor(how.max)})`, `÷ ${number(how.sum)}`]}
        columns={shares}
      />
    </>
  );
}

function others(state: State, { count }: Rest): string {
  return state.say("page.work.rest", { count });
}

interface Column {
  head: string | number;
  cells: string[];
  /** The one in hand. */
  on?: boolean;
  /** What the others come to. */
  total?: boolean;
}

interface TermsProps {
  state: State;
  room: number;
  corner: string;
  heads: string[];
  columns: Column[];
}

// What a term takes beside the others, in px.
const TERM = 74;

/** Terms in columns, as the row of a matrix lies; where the room is narrow, one beneath the other. */
function Terms({ state, room, corner, heads, columns }: TermsProps) {
  const upright = columns.length * TERM + 110 > room;
  const look = (column: Column) => `${column.on ? "on" : ""}${column.total ? " total" : ""}`;
  return (
    <div class="scrolled" tabIndex={0} role="group" aria-label={state.say("page.work.title")}>
      {upright ? (
        <table class="terms upright">
          <thead>
            <tr>
              <th scope="col">{corner}</th>
              {heads.map((head) => (
                <th scope="col">{head}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {columns.map((column) => (
              <tr class={look(column)}>
                {column.head === "" ? <td /> : <th scope="row">{column.head}</th>}
                {column.cells.map((cell) => (
                  <td>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <table class="terms">
          <thead>
            <tr>
              <th scope="row">{corner}</th>
              {columns.map((column) =>
                column.head === "" ? (
                  <td />
                ) : (
                  <th scope="col" class={look(column)}>
                    {column.head}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {heads.map((head, index) => (
              <tr>
                <th scope="row">{head}</th>
                {columns.map((column) => (
                  <td class={look(column)}>{column.cells[index]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}
