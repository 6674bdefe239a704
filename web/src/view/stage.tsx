import { useState } from "preact/hooks";
import { at } from "../data/matrix";
import { number } from "../format";
import type { Part, Role, Tensor } from "../scene";
import type { State } from "../state";
import { Indexed } from "./indexed";
import { Legend, MatrixView } from "./matrix";
import { axisName, ownName, shapeOf, symbol } from "./names";

// Sizes on the page, in px: room beside a matrix for the numbers of its rows, and above it for those of its columns.
const SIDE = 30;
const OVER = 52;
const SIGN = 38;
const NARROWEST = 54;
const WIDEST = 46;
const NUMBERED = 29;
const TALLEST = 540;
const NUMBER_HEIGHT = 25;

/** The step in hand, drawn large: what it reads, what it makes, and how they lie to each other. */
export function Stage({ state, room }: { state: State; room: number }) {
  const part = state.part.value;
  if (!part) return null;
  const shown = plans(state, part);
  if (shown.length === 0) return null;
  const roles = [
    ...new Set(shown.flatMap((one) => (one.kind === "product" ? [one.left, one.top, one.made] : [...one.reads, ...one.makes]))),
  ];
  return (
    <section class="stage" aria-label={state.say("page.stage.title")}>
      {shown.map((one, index) =>
        one.kind === "product" ? (
          <Product key={index} state={state} room={room} {...one} />
        ) : (
          <Beside key={index} state={state} room={room} {...one} />
        ),
      )}
      <p class="legends">{legends(state, roles)}</p>
      <Tables state={state} roles={roles} />
    </section>
  );
}

type Plan = { kind: "product"; left: Role; top: Role; made: Role } | { kind: "beside"; reads: Role[]; makes: Role[] };

/** How a step is drawn: most do one thing; a fused call does all of them, and is drawn one after another. */
function plans(state: State, part: Part): Plan[] {
  const { reads, makes } = state.flow(part);
  const fused = makes.includes("scores") && makes.includes("weights");
  if (fused) return makes.filter((role) => role !== "mask").map((role) => one(state, state.sources(role), [role]));
  const made = makes.filter((role) => !reads.includes(role));
  return reads.length + made.length > 0 ? [one(state, reads, made)] : [];
}

function one(state: State, reads: Role[], makes: Role[]): Plan {
  const here = (...roles: Role[]) => roles.every((role) => state.tensor(role) !== undefined);
  if (makes.includes("scores") && here("q", "kt") && fit(state, "q", "kt", "scores")) {
    return { kind: "product", left: "q", top: "kt", made: "scores" };
  }
  if (makes.includes("output") && here("weights", "v") && fit(state, "weights", "v", "output")) {
    return { kind: "product", left: "weights", top: "v", made: "output" };
  }
  return { kind: "beside", reads, makes };
}

/** Whether two matrices and their product can be drawn as one. */
function fit(state: State, left: Role, top: Role, made: Role): boolean {
  const [a, b, c] = [state.tensor(left), state.tensor(top), state.tensor(made)];
  return !!a && !!b && !!c && a.width === b.height && a.height === c.height && b.width === c.width;
}

interface Sized {
  wide: number;
  high: number;
  numbers: boolean;
}

function sized(room: number, across: number, down: number): Sized {
  const wide = Math.min(WIDEST, room / across);
  if (wide >= NUMBERED && down * NUMBER_HEIGHT <= TALLEST) return { wide, high: NUMBER_HEIGHT, numbers: true };
  const unit = Math.min(wide, 20, TALLEST / down);
  return { wide: unit, high: unit, numbers: false };
}

/** A product: the left factor stands left of what it makes, the right one above, so that rows and columns meet. */
function Product({ state, room, left, top, made }: { state: State; room: number; left: Role; top: Role; made: Role }) {
  const [one, other, result] = [left, top, made].map((role) => state.tensor(role) as Tensor) as [Tensor, Tensor, Tensor];
  const down = other.height + result.height;
  let size = sized(room - 2 * SIDE - SIGN, one.width + result.width, down);
  if (one.width * size.wide < NARROWEST) size = sized(room - 2 * SIDE - SIGN - NARROWEST, result.width, down);
  return (
    <div class="product">
      <p class="sign">
        <span>
          {symbol(state, left)} · {symbol(state, top)}
        </span>
      </p>
      <Framed state={state} role={top} tensor={other} {...size} />
      <Framed state={state} role={left} tensor={one} {...size} />
      <Framed state={state} role={made} tensor={result} {...size} />
    </div>
  );
}

/** What is read, and what is made of it: beside each other, one beneath the other where there are several. */
function Beside({ state, room, reads, makes }: { state: State; room: number; reads: Role[]; makes: Role[] }) {
  const tensors = (roles: Role[]) => roles.map((role) => state.tensor(role) as Tensor);
  const widest = (roles: Role[]) => Math.max(0, ...tensors(roles).map((tensor) => tensor.width));
  const tallest = (roles: Role[]) => tensors(roles).reduce((sum, tensor) => sum + tensor.height, 0);
  const wide = sized(room - 2 * SIDE - SIGN, widest(reads) + widest(makes), Math.max(tallest(reads), tallest(makes)));
  const one = sized(room - SIDE, Math.max(widest(reads), widest(makes)), Math.max(tallest(reads), tallest(makes)));
  // Where only one beneath the other leaves room for the numbers, or for anything, they lie so.
  const narrow = reads.length === 0 || (!wide.numbers && one.numbers) || (room < 420 && wide.wide < one.wide);
  const size = narrow ? one : wide;
  const column = (roles: Role[]) => (
    <div class="stack">
      {roles.map((role) => (
        <Framed key={role} state={state} role={role} tensor={state.tensor(role) as Tensor} {...size} />
      ))}
    </div>
  );
  return (
    <div class={`beside${narrow ? " narrow" : ""}`}>
      {reads.length > 0 && column(reads)}
      {reads.length > 0 && makes.length > 0 && <p class="sign arrow" aria-hidden="true" />}
      {makes.length > 0 && column(makes)}
    </div>
  );
}

/** A matrix with its name, its axes and the numbers of its rows and columns. */
function Framed({ state, role, tensor, wide, high, numbers }: { state: State; role: Role; tensor: Tensor } & Sized) {
  const matrix = state.matrix(role);
  const own = ownName(state, role, tensor);
  const lit = state.lit.value.has(role) ? " lit" : "";
  return (
    <figure class={`framed ${role}${lit}`} style={{ "--side": `${SIDE}px`, "--over": `${OVER}px` }}>
      <figcaption title={shapeOf(tensor)}>
        <b>{symbol(state, role)}</b>
        {own && <code>{own}</code>}
        {matrix && !matrix.exact && <span class="about">≈</span>}
      </figcaption>
      {tensor.width * wide >= NARROWEST && (
        <span class="across">
          <Indexed text={axisName(state, tensor, -1)} /> <small>{tensor.width}</small>
        </span>
      )}
      {tensor.height * high >= NARROWEST && (
        <span class="down">
          <Indexed text={axisName(state, tensor, -2)} /> <small>{tensor.height}</small>
        </span>
      )}
      {high >= 12 && <Ticks count={tensor.height} size={high} side="rows" />}
      {wide >= 14 && <Ticks count={tensor.width} size={wide} side="cols" />}
      <MatrixView state={state} role={role} tensor={tensor} wide={wide} high={high} numbers={numbers} />
      {matrix === null && <p class="absent">{state.say("page.picture.absent")}</p>}
    </figure>
  );
}

function Ticks({ count, size, side }: { count: number; size: number; side: "rows" | "cols" }) {
  const length = side === "rows" ? "height" : "width";
  return (
    <span class={`ticks ${side}`} aria-hidden="true">
      {Array.from({ length: count }, (_, index) => (
        <i style={{ [length]: `${size}px` }}>{index}</i>
      ))}
    </span>
  );
}

function legends(state: State, roles: Role[]) {
  return roles.flatMap((role) => {
    const tensor = state.tensor(role);
    return tensor?.picture ? [<Legend key={role} state={state} role={role} tensor={tensor} />] : [];
  });
}

// A table is read number by number: of a larger matrix, its first corner.
const CORNER = 32;

/** The same numbers as tables, for who does not see the pictures, or wants to copy them. */
function Tables({ state, roles }: { state: State; roles: Role[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="tables" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{state.say("page.picture.tables")}</summary>
      {open && roles.map((role) => <NumberTable key={role} state={state} role={role} />)}
    </details>
  );
}

function NumberTable({ state, role }: { state: State; role: Role }) {
  const [tensor, matrix] = [state.tensor(role), state.matrix(role)];
  if (!tensor || !matrix) return null;
  const rows = Math.min(matrix.rows, CORNER);
  const cols = Math.min(matrix.cols, CORNER);
  const indices = (count: number) => Array.from({ length: count }, (_, index) => index);
  const cut = rows < matrix.rows || cols < matrix.cols;
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label={symbol(state, role)}>
      <table class="numbers">
        <caption>
          {symbol(state, role)} {shapeOf(tensor)} {cut && state.say("page.picture.corner", { rows, cols })}
        </caption>
        <thead>
          <tr>
            <td />
            {indices(cols).map((col) => (
              <th scope="col">{col}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {indices(rows).map((row) => (
            <tr>
              <th scope="row">{row}</th>
              {indices(cols).map((col) => (
                <td>{number(at(matrix, row, col))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
