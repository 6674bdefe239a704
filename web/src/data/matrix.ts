import type { Picture, Tensor, Top } from "../scene";
import type { Store } from "./store";

/** One matrix of a tensor: rows and columns are those of the whole one, even where the picture is smaller. */
export interface Matrix {
  /** The size of the whole matrix. */
  rows: number;
  cols: number;
  /** The size of the picture, and how many rows and columns of the whole one a cell of it stands for. */
  height: number;
  width: number;
  pool: number;
  /** Whether these are the numbers themselves; else they are rounded, or means of several. */
  exact: boolean;
  /** Numbers as they are, or bytes with the bounds they lie between. */
  data: Float32Array | Uint8Array;
  low: number;
  high: number;
  /** Of masked scores that are rounded: the mask, 1 where a key is hidden. Bytes have no sign for -∞. */
  hidden?: Matrix;
}

/** Where unpacked bytes are had from. */
type Held = Pick<Store, "get">;

/** The matrix of a sample and a head. undefined: not unpacked yet; null: not kept. */
export function matrixOf(store: Held, tensor: Tensor, sample: number, head: number): Matrix | null | undefined {
  const picture = tensor.picture;
  if (!picture) return null;
  const at = place(tensor, picture, sample, head);
  const blob = at && picture.blobs[at.sample];
  if (!blob) return null;
  const buffer = store.get(blob);
  if (!buffer) return buffer;
  let known = matrices.get(buffer);
  if (!known) matrices.set(buffer, (known = new Map()));
  const found = known.get(at.head);
  if (found !== undefined) return found;
  const matrix = cut(tensor, picture, buffer, at);
  known.set(at.head, matrix);
  return matrix;
}

// Held as long as the bytes are: what is drawn from a matrix is remembered by it.
const matrices = new WeakMap<ArrayBuffer, Map<number, Matrix | null>>();

function cut(tensor: Tensor, picture: Picture, buffer: ArrayBuffer, at: Location): Matrix | null {
  const size = picture.height * picture.width;
  const whole = picture.kind === "f32" ? new Float32Array(buffer) : new Uint8Array(buffer);
  const data = whole.subarray(at.head * size, (at.head + 1) * size);
  if (data.length < size) return null;
  const bounds = 2 * (at.sample * picture.heads + at.head);
  return {
    rows: tensor.height,
    cols: tensor.width,
    height: picture.height,
    width: picture.width,
    pool: picture.pool,
    exact: picture.kind === "f32" && picture.pool === 1,
    data,
    low: picture.bounds[bounds] ?? 0,
    high: picture.bounds[bounds + 1] ?? 0,
  };
}

/** The number at a place of the whole matrix: the mean of its neighbourhood, where the matrix is pooled. */
export function at(matrix: Matrix, row: number, col: number): number {
  const { pool, width, data, hidden } = matrix;
  if (hidden && isHidden(at(hidden, Math.min(row, hidden.rows - 1), Math.min(col, hidden.cols - 1)))) return -Infinity;
  const value = data[Math.floor(row / pool) * width + Math.floor(col / pool)] ?? NaN;
  return data instanceof Float32Array ? value : matrix.low + (value * (matrix.high - matrix.low)) / 255;
}

/** Whether a key is hidden from a query, by the number of the mask; in a pooled one, all of those keys. */
export function isHidden(mask: number): boolean {
  return mask > 0.999;
}

export function row(matrix: Matrix, index: number): number[] {
  return Array.from({ length: matrix.cols }, (_, col) => at(matrix, index, col));
}

export function column(matrix: Matrix, index: number): number[] {
  return Array.from({ length: matrix.rows }, (_, row) => at(matrix, row, index));
}

const hiding = new WeakMap<Matrix, Matrix>();

/** Masked scores with their mask, where they need it. */
export function hiddenBy(matrix: Matrix, mask: Matrix | null | undefined): Matrix {
  if (!mask || matrix.data instanceof Float32Array || matrix.pool % mask.pool !== 0) return matrix;
  const hidden = shrunk(mask, matrix.pool / mask.pool);
  const known = hiding.get(matrix);
  if (known?.hidden === hidden) return known;
  const found = { ...matrix, hidden };
  hiding.set(matrix, found);
  return found;
}

const turns = new WeakMap<Matrix, Matrix>();

/** The same numbers with rows and columns exchanged. */
export function turned(matrix: Matrix): Matrix {
  const known = turns.get(matrix);
  if (known) return known;
  const { height, width, data } = matrix;
  const copy = data.slice();
  for (let r = 0; r < height; r++) for (let c = 0; c < width; c++) copy[c * height + r] = data[r * width + c] ?? 0;
  const found = { ...matrix, rows: matrix.cols, cols: matrix.rows, height: width, width: height, data: copy };
  turns.set(matrix, found);
  return found;
}

const reductions = new WeakMap<Matrix, Matrix>();

/** The same matrix, each side no longer than `most`. */
export function reduced(matrix: Matrix, most: number): Matrix {
  return shrunk(matrix, Math.ceil(Math.max(matrix.height, matrix.width) / most));
}

/** The same matrix with a cell for each `by` × `by`, their mean. */
function shrunk(matrix: Matrix, by: number): Matrix {
  if (by <= 1) return matrix;
  const known = reductions.get(matrix);
  if (known?.pool === matrix.pool * by) return known;
  const height = Math.ceil(matrix.height / by);
  const width = Math.ceil(matrix.width / by);
  const { data } = matrix;
  const step = data instanceof Float32Array ? 1 : (matrix.high - matrix.low) / 255;
  const low = data instanceof Float32Array ? 0 : matrix.low;
  const means = new Float32Array(height * width);
  for (let r = 0; r < height; r++) {
    const bottom = Math.min((r + 1) * by, matrix.height);
    for (let c = 0; c < width; c++) {
      const right = Math.min((c + 1) * by, matrix.width);
      let sum = 0;
      for (let row = r * by; row < bottom; row++) {
        for (let index = row * matrix.width + c * by; index < row * matrix.width + right; index++) {
          sum += data[index] as number;
        }
      }
      means[r * width + c] = low + (sum / ((bottom - r * by) * (right - c * by))) * step;
    }
  }
  const found = { ...matrix, height, width, pool: matrix.pool * by, exact: false, data: means };
  reductions.set(matrix, found);
  return found;
}

/** The largest keys of a query with their weights, exactly. undefined: not unpacked yet; null: not kept. */
export function largest(
  store: Held,
  tensor: Tensor,
  top: Top,
  sample: number,
  head: number,
  query: number,
): { key: number; weight: number }[] | null | undefined {
  const blob = top.blobs[sample];
  if (!blob) return null;
  const buffer = store.get(blob);
  if (!buffer) return buffer;
  const cells = buffer.byteLength / 6;
  const first = (head * tensor.height + query) * top.count;
  if (first + top.count > cells) return null;
  const keys = new Uint16Array(buffer, 0, cells);
  // The weights follow the keys, and need not begin at a multiple of four.
  const weights = new DataView(buffer, cells * 2);
  return Array.from({ length: top.count }, (_, index) => ({
    key: keys[first + index] ?? 0,
    weight: weights.getFloat32((first + index) * 4, true),
  }));
}

interface Location {
  sample: number;
  head: number;
}

/** Where a sample and a head lie in a picture: what there is only one of is shared by all. */
function place(tensor: Tensor, picture: Picture, sample: number, head: number): Location | null {
  const here = { sample: tensor.samples === 1 ? 0 : sample, head: Math.min(head, tensor.heads - 1) };
  return here.sample < picture.samples && here.head < picture.heads ? here : null;
}

/** Which head of a tensor goes with a head of another that has more: key and value heads are shared in groups. */
export function sharedHead(tensor: Tensor, head: number, heads: number): number {
  return tensor.heads < heads && heads % tensor.heads === 0 ? Math.floor((head * tensor.heads) / heads) : head;
}
