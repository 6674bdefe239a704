import { at, column, largest, row, type Matrix } from "./data/matrix";
import type { Role } from "./scene";
import type { Cell, State } from "./state";

/** How the number in a cell came about, from numbers that were recorded. */
export interface Work {
  cell: Cell;
  value: number;
  /** Whether the number is what was recorded; else it is rounded, or a mean. */
  exact: boolean;
  how: How | null;
  /** The largest keys of this query, exactly, where the picture itself is not exact. */
  top: { key: number; weight: number }[] | null;
}

export type How =
  /** A row of one times a column of another: terms, and their sum. */
  | { kind: "dot"; left: Role; right: Role; terms: Term[]; rest: Rest | null; sum: number; factor: number; agrees: boolean }
  | { kind: "softmax"; from: Role; shares: Share[]; rest: Rest | null; max: number; sum: number; agrees: boolean }
  | { kind: "scale"; from: Role; before: number; divisor: number | null; agrees: boolean }
  | { kind: "mask"; from: Role; before: number; mask: number | null; agrees: boolean }
  | { kind: "turned"; from: Role; row: number; col: number };

export interface Term {
  index: number;
  left: number;
  right: number;
  product: number;
}

export interface Share {
  index: number;
  score: number;
  exp: number;
  weight: number;
}

/** The terms that are not listed, and what they come to. */
export interface Rest {
  count: number;
  sum: number;
}

// As many terms are listed as a person reads; of more, those that weigh most.
const LISTED = 16;
const KEPT = 12;
// A score below this is one that was masked.
const LOW = -1e4;

export function work(state: State, cell: Cell): Work | null | undefined {
  const matrix = state.matrix(cell.role);
  if (!matrix) return matrix;
  const value = at(matrix, cell.row, cell.col);
  return { cell, value, exact: matrix.exact, how: explain(state, cell, value, matrix), top: topKeys(state, cell) };
}

function explain(state: State, cell: Cell, value: number, matrix: Matrix): How | null {
  const layer = state.layer.value;
  if (matrix.pool > 1 || !layer) return null;
  switch (cell.role) {
    case "scores":
      return layer.additive ? null : dot(state, cell, value, "q", "kt", layer.factor);
    case "output":
      return layer.changed ? null : dot(state, cell, value, "weights", "v");
    case "weights":
      return softmax(state, cell, value);
    case "scaled":
      return scale(state, cell, value);
    case "masked":
      return mask(state, cell, value);
    case "kt":
      return state.tensor("k") ? { kind: "turned", from: "k", row: cell.col, col: cell.row } : null;
    default:
      return null;
  }
}

function dot(state: State, cell: Cell, value: number, left: Role, right: Role, factor = 1): How | null {
  const [one, other] = [state.matrix(left), state.matrix(right)];
  if (!one || !other || one.pool > 1 || other.pool > 1 || one.cols !== other.rows) return null;
  const [values, others] = [row(one, cell.row), column(other, cell.col)];
  const all = values.map((value, index) => {
    const against = others[index] ?? NaN;
    return { index, left: value, right: against, product: value * against };
  });
  const sum = total(all.map((term) => term.product));
  const terms = foremost(all, (term) => Math.abs(term.product));
  const agrees = near(state, cell, sum * factor, value, one.exact && other.exact);
  return { kind: "dot", left, right, terms, rest: rest(all, terms, (term) => term.product), sum, factor, agrees };
}

/** What softmax was taken of: the last that became of the scores. */
export function scoresBefore(state: State): Role | null {
  return (["masked", "scaled", "scores"] as const).find((role) => state.tensor(role)?.picture) ?? null;
}

function softmax(state: State, cell: Cell, value: number): How | null {
  const from = scoresBefore(state);
  const scores = from && state.matrix(from);
  const weights = state.matrix("weights");
  if (!from || !scores || !weights || scores.pool > 1 || scores.cols !== weights.cols) return null;
  const values = row(scores, cell.row);
  const max = Math.max(...values);
  const exps = values.map((score) => Math.exp(score - max));
  const sum = total(exps);
  const all = values.map((score, index) => {
    const exp = exps[index] ?? NaN;
    return { index, score, exp, weight: exp / sum };
  });
  const shares = foremost(all, (share) => (share.index === cell.col ? Infinity : share.weight));
  const agrees = near(state, cell, (exps[cell.col] ?? NaN) / sum, value, scores.exact && weights.exact);
  return { kind: "softmax", from, shares, rest: rest(all, shares, (share) => share.exp), max, sum, agrees };
}

function scale(state: State, cell: Cell, value: number): How | null {
  const before = number(state, "scores", cell);
  if (before === null) return null;
  const divisor = state.layer.value?.divisor ?? null;
  const agrees = divisor !== null && near(state, cell, before / divisor, value, true);
  return { kind: "scale", from: "scores", before, divisor, agrees };
}

function mask(state: State, cell: Cell, value: number): How | null {
  const from = state.tensor("scaled") ? "scaled" : "scores";
  const before = number(state, from, cell);
  if (before === null) return null;
  const hidden = number(state, "mask", cell);
  const left = value === before || value < LOW;
  return { kind: "mask", from, before, mask: hidden, agrees: left || near(state, cell, before + (hidden ?? 0), value, true) };
}

/** The number at the same place of another tensor, where it is there. */
function number(state: State, role: Role, { row, col }: Cell): number | null {
  const matrix = state.matrix(role);
  if (!matrix || matrix.pool > 1) return null;
  return at(matrix, Math.min(row, matrix.rows - 1), Math.min(col, matrix.cols - 1));
}

function topKeys(state: State, cell: Cell): Work["top"] {
  const tensor = state.tensor("weights");
  if (cell.role !== "weights" || !tensor?.top) return null;
  const found = largest(state.store, tensor, tensor.top, state.sample.value, state.head.value, cell.row);
  return found ?? null;
}

/** Whether what was worked out is what was recorded: something else may have been done in between. */
function near(state: State, cell: Cell, worked: number, recorded: number, exact: boolean): boolean {
  if (Object.is(worked, recorded)) return true;
  const tensor = state.tensor(cell.role);
  // What comes of rounded numbers is only roughly the same.
  if (!exact) return Math.abs(worked - recorded) <= 0.1 * ((tensor?.max ?? 0) - (tensor?.min ?? 0));
  const half = /16|8/.test(tensor?.dtype ?? "");
  return Math.abs(worked - recorded) <= (half ? 3e-2 : 1e-3) * Math.max(1, Math.abs(recorded));
}

function foremost<T>(all: T[], weight: (item: T) => number): T[] {
  if (all.length <= LISTED) return all;
  const kept = new Set([...all].sort((a, b) => weight(b) - weight(a)).slice(0, KEPT));
  return all.filter((item) => kept.has(item));
}

function rest<T>(all: T[], listed: T[], value: (item: T) => number): Rest | null {
  if (listed.length === all.length) return null;
  const kept = new Set(listed);
  const left = all.filter((item) => !kept.has(item));
  return { count: left.length, sum: total(left.map(value)) };
}

function total(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
