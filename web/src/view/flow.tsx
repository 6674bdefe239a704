import { useEffect, useRef } from "preact/hooks";
import type { Part, Role, Tensor } from "../scene";
import type { State } from "../state";
import { Indexed } from "./indexed";
import { MatrixView } from "./matrix";
import { ownName, shapeOf, symbol } from "./names";

// Sizes on the page, in px.
const HEAD = 44;
const CAPTION = 38;
const GAP = 28;
const LANE_GAP = 4;
const ONTO = 16;
const NARROWEST = 58;
const ROOMY = 66;
const TALLEST = 92;
const TALLEST_ALONE = 230;
const LARGEST = 12;
// A tensor that is wider is drawn as wide as this, so that it does not make all others small.
const WIDEST = 100;
// The tallest is never drawn smaller than this, whatever room there is.
const SMALLEST = 56;

interface Node {
  role: Role;
  tensor: Tensor;
  step: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

interface Column {
  part: Part;
  step: number;
  nodes: Node[];
  x: number;
  width: number;
}

/** The flow from X to the output: each step a column, each tensor a matrix, all to one scale. */
export function Flow({ state, room }: { state: State; room: number }) {
  const told = state.told.value;
  const layer = state.layer.value;
  const strip = useRef<HTMLDivElement>(null);
  const step = state.stepAt.value;
  useEffect(() => {
    const [box, now] = [strip.current, strip.current?.querySelector<HTMLElement>("[aria-current]")];
    if (!box || !now || box.scrollWidth <= box.clientWidth) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const left = now.offsetLeft + now.offsetWidth / 2 - box.clientWidth / 2;
    box.scrollTo({ left, behavior: still ? "auto" : "smooth" });
  }, [step, room]);
  if (!told || !layer) return null;

  const { columns, nodes, width, height, unit } = layOut(state, told.parts, room);
  const lit = state.lit.value;
  const current = told.parts[step];
  return (
    <div class="flow" ref={strip} tabIndex={-1}>
      <div class="inside" style={{ width: `${width}px`, height: `${height}px` }}>
        <Edges state={state} columns={columns} nodes={nodes} width={width} height={height} />
        <ol>
          {columns.map((column) => (
            <li>
              <button
                type="button"
                class="step"
                style={{ left: `${column.x - GAP / 2 + 3}px`, width: `${column.width + GAP - 6}px`, height: `${HEAD}px` }}
                aria-current={column.step === step ? "step" : undefined}
                onClick={() => state.setStep(column.step)}
              >
                <b>{column.step + 1}</b>
                <span>
                  <Indexed text={column.part.names.map((name) => shortened(state.text(name))).join(" ")} />
                </span>
              </button>
            </li>
          ))}
        </ol>
        {nodes.map((node) => (
          <figure
            key={node.role}
            class={`${classes(node, current, lit)}${squeezed(node, unit) ? " squeezed" : ""}`}
            style={{ left: `${node.x}px`, top: `${node.y}px`, width: `${node.width}px` }}
          >
            <MatrixView
              state={state}
              role={node.role}
              tensor={node.tensor}
              wide={node.width / node.tensor.width}
              high={unit}
              numbers={false}
              onChoose={() => state.setStep(node.step)}
            />
            <figcaption title={hint(state, node, unit)}>
              <b>
                {symbol(state, node.role)} {captioned(state, node) && <small>{size(node.tensor)}</small>}
              </b>
              <span>
                <Indexed text={lastAxes(node.tensor) || size(node.tensor)} />
              </span>
            </figcaption>
          </figure>
        ))}
      </div>
    </div>
  );
}

function squeezed({ tensor, width }: Node, unit: number): boolean {
  return width < tensor.width * unit - 1;
}

function hint(state: State, node: Node, unit: number): string {
  const squeeze = squeezed(node, unit) ? state.say("page.picture.squeezed", { width: node.tensor.width }) : "";
  return [ownName(state, node.role, node.tensor), shapeOf(node.tensor), squeeze].filter(Boolean).join(" ");
}

function size(tensor: Tensor): string {
  return `${tensor.height}×${tensor.width}`;
}

/** Whether there is room for the size behind the name. */
function captioned(state: State, node: Node): boolean {
  const letters = [...`${symbol(state, node.role)} ${size(node.tensor)}`];
  const long = letters.reduce((sum, letter) => sum + (letter > "\u2e80" ? 12 : 6.6), 0);
  return long <= Math.max(NARROWEST, node.width) + GAP;
}

/** "L×d_k", where both are known. */
function lastAxes(tensor: Tensor): string {
  const names = tensor.axes.slice(-2);
  const own = tensor.shape.at(-1) === tensor.width && tensor.shape.at(-2) === tensor.height;
  return own && names.some(Boolean) ? names.map((name, index) => name ?? tensor.shape.at(index - 2)).join("×") : "";
}

/** "Q = X W_Q" is Q, where room is scarce. */
function shortened(name: string): string {
  return name.split(" = ")[0] ?? name;
}

function classes(node: Node, part: Part | undefined, lit: ReadonlySet<Role>): string {
  const made = part?.makes.includes(node.role) ? " made" : "";
  const read = part?.reads.includes(node.role) ? " read" : "";
  return `tensor${made}${read}${lit.has(node.role) ? " lit" : ""}`;
}

const LANES: Partial<Record<Role, number>> = { q: 0, k: 1, kt: 1, v: 2 };
// These follow from Q and K, and lie between their lanes; V's runs on below.
const BETWEEN: Role[] = ["scores", "scaled", "mask", "masked", "weights"];

function layOut(state: State, parts: Part[], room: number) {
  const shown = new Set<Role>();
  const columns: Column[] = parts.map((part, step) => {
    const { reads, makes } = state.flow(part);
    // A mask stands above what it is laid on.
    const roles = [...reads.filter((role) => role === "mask"), ...makes].filter((role) => !shown.has(role));
    roles.forEach((role) => shown.add(role));
    const nodes = roles.map((role) => {
      const tensor = state.tensor(role) as Tensor;
      return { role, tensor, step, x: 0, y: 0, width: 0, height: 0 };
    });
    return { part, step, nodes, x: 0, width: 0 };
  });

  const unit = unitFor(columns, room);
  const heights = columns.flatMap(({ nodes }) => nodes.filter(setsLane).map(({ tensor }) => tensor.height * unit));
  const laneHeight = Math.max(24, ...heights);
  const lane = (index: number) => HEAD + 8 + index * (laneHeight + CAPTION + LANE_GAP);
  const lanes = columns.some(({ nodes }) => nodes.some(inLane)) ? 3 : 1;
  const bottom = lane(lanes) - LANE_GAP;

  let x = GAP / 2;
  for (const column of columns) {
    column.x = x;
    column.width = Math.max(NARROWEST, ...column.nodes.map((node) => widthOf(node, unit)));
    stack(column, unit, lane, laneHeight, bottom);
    x += column.width + GAP;
  }
  apart(columns, lane, laneHeight);
  const nodes = columns.flatMap((column) => column.nodes);
  const height = Math.max(bottom, ...nodes.map((node) => node.y + node.height + CAPTION));
  return { columns, nodes, width: x - GAP / 2, height, unit };
}

function inLane({ role }: Node): boolean {
  return LANES[role] !== undefined;
}

/** Queries come from one sequence, keys and values from another: each stands beside its own. */
function apart(columns: Column[], lane: (index: number) => number, laneHeight: number): void {
  const nodes = columns.flatMap((column) => column.nodes);
  const [x, memory] = (["x", "memory"] as const).map((role) => nodes.find((node) => node.role === role));
  if (!x || !memory) return;
  x.y = Math.max(lane(0), lane(0) + (laneHeight - x.height) / 2);
  memory.y = Math.max(x.y + x.height + CAPTION, (lane(1) + lane(2) + laneHeight - memory.height) / 2);
}

/** Kᵀ is alone in its column: it may be taller than its lane. */
function setsLane(node: Node): boolean {
  return inLane(node) && node.role !== "kt";
}

function stack(column: Column, unit: number, lane: (index: number) => number, laneHeight: number, bottom: number): void {
  for (const node of column.nodes) {
    node.width = widthOf(node, unit);
    node.height = Math.max(3, node.tensor.height * unit);
    node.x = column.x + (column.width - node.width) / 2;
  }
  const free = column.nodes.filter((node) => !inLane(node));
  const between = free.every(({ role }) => BETWEEN.includes(role));
  const middle = between ? (lane(0) + lane(1) + laneHeight) / 2 + CAPTION / 4 : (lane(0) + bottom) / 2;
  const whole = free.reduce((sum, node) => sum + node.height + CAPTION + ONTO, 0) - CAPTION - ONTO;
  let y = Math.max(lane(0), middle - whole / 2);
  for (const node of column.nodes) {
    const at = LANES[node.role];
    if (at === undefined) {
      node.y = y;
      y += node.height + CAPTION + ONTO;
    } else {
      node.y = lane(at) + (laneHeight - node.height) / 2;
    }
  }
}

function widthOf({ tensor }: Node, unit: number): number {
  return Math.max(3, Math.min(tensor.width * unit, WIDEST));
}

/** One scale for all: as large as the room allows, on either side. */
function unitFor(columns: Column[], room: number): number {
  let unit = LARGEST;
  for (const { nodes } of columns) {
    for (const node of nodes) {
      unit = Math.min(unit, (setsLane(node) ? TALLEST : TALLEST_ALONE / nodes.filter((other) => !setsLane(other)).length) / node.tensor.height);
    }
  }
  // Where there is little room, it is scrolled.
  const most = Math.max(room, columns.length * (ROOMY + GAP));
  const fits = (unit: number) => {
    const widths = columns.map(({ nodes }) => Math.max(NARROWEST, ...nodes.map((node) => widthOf(node, unit))));
    return widths.reduce((sum, width) => sum + width + GAP, 0) <= most;
  };
  const tallest = Math.max(1, ...columns.flatMap(({ nodes }) => nodes.map(({ tensor }) => tensor.height)));
  while (unit * tallest > SMALLEST && !fits(unit)) unit *= 0.94;
  return unit;
}

interface EdgesProps {
  state: State;
  columns: Column[];
  nodes: Node[];
  width: number;
  height: number;
}

function Edges({ state, columns, nodes, width, height }: EdgesProps) {
  const step = state.stepAt.value;
  const at = new Map(nodes.map((node) => [node.role, node]));
  const edges = columns.flatMap((column) =>
    column.nodes.flatMap((to) =>
      state.sources(to.role).flatMap((role) => {
        // Inside a fused call nobody turned K.
        const from = at.get(role) ?? (role === "kt" ? at.get("k") : undefined);
        return from ? [{ from, to, on: column.step === step }] : [];
      }),
    ),
  );
  return (
    <svg class="edges" width={width} height={height} aria-hidden="true">
      {[...edges].sort((a, b) => Number(a.on) - Number(b.on)).map(({ from, to, on }) => (
        <path class={on ? "on" : ""} d={curve(from, to)} />
      ))}
    </svg>
  );
}

function curve(from: Node, to: Node): string {
  if (from.step === to.step) {
    // One above the other, as a mask above what it is laid on.
    const [x, top, end] = [from.x + from.width / 2, from.y + from.height + CAPTION - 4, to.y - 5];
    return top < end && end - top < 3 * ONTO ? `M${x} ${top}V${end}` : "";
  }
  const [x1, y1] = [from.x + from.width + 4, from.y + from.height / 2];
  const [x2, y2] = [to.x - 5, to.y + to.height / 2];
  // It runs along its own lane, and turns only before it arrives.
  const turn = Math.max(x1, x2 - GAP - Math.abs(y2 - y1) / 8);
  const half = (turn + x2) / 2;
  return `M${x1} ${y1}H${turn}C${half} ${y1} ${half} ${y2} ${x2} ${y2}`;
}
