import type { Cell } from "./state";
import type { Role } from "./scene";

/** What a cell has to do with another tensor: a row of it, a column, or one cell. */
export interface Mark {
  row?: number;
  col?: number;
}

/**
 * What of each tensor made a cell, and what it goes into. Marked are whole rows where only `row` is given, whole
 * columns where only `col` is, and a cell where both are.
 */
export function marks(cell: Cell): Partial<Record<Role, Mark[]>> {
  const { role, row, col } = cell;
  switch (role) {
    case "scores":
    case "scaled":
    case "mask":
    case "masked":
    case "weights":
      return { ...square({ row, col }), ...made(row, col), x: [{ row }, { row: col }], output: [{ row }] };
    case "output":
      return { ...square({ row }), q: [{ row }], v: [{ col }], output: [{ row, col }], x: [{ row }] };
    case "q":
      return { x: [{ row }], q: [{ row, col }], k: [{ col }], kt: [{ row: col }], ...square({ row }) };
    case "k":
      return { ...source(row), q: [{ col }], k: [{ row, col }], kt: [{ row: col, col: row }], ...square({ col: row }) };
    case "kt":
      return { ...source(col), q: [{ col: row }], k: [{ row: col, col: row }], kt: [{ row, col }], ...square({ col }) };
    case "v":
      return { ...source(row), v: [{ row, col }], weights: [{ col: row }], output: [{ col }] };
    case "x":
      return { x: [{ row, col }], q: [{ row }], k: [{ row }], v: [{ row }] };
    case "memory":
      return { memory: [{ row, col }], k: [{ row }], v: [{ row }] };
    case "merged":
      return { output: [{ row }], merged: [{ row, col }], projected: [{ row }] };
    case "projected":
      return { merged: [{ row }], projected: [{ row, col }] };
  }
}

/** The same of scores, of what they become, and of the weights. */
function square(mark: Mark): Partial<Record<Role, Mark[]>> {
  return { scores: [mark], scaled: [mark], mask: [mark], masked: [mark], weights: [mark] };
}

/** The query and the key that met, and the value that goes with that key. */
function made(query: number, key: number): Partial<Record<Role, Mark[]>> {
  return { q: [{ row: query }], k: [{ row: key }], kt: [{ col: key }], v: [{ row: key }], memory: [{ row: key }] };
}

/** Where keys and values come from. */
function source(row: number): Partial<Record<Role, Mark[]>> {
  return { x: [{ row }], memory: [{ row }] };
}
