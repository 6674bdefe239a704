import type { Role, Tensor } from "../scene";
import type { State } from "../state";

/** What a tensor is called in the formula. */
export function symbol(state: State, role: Role): string {
  return state.say(`page.role.${role}`);
}

const NAME = /^[\p{L}_][\p{L}\p{N}_.]*$/u;

/** The user's own name for a tensor, where it is a name and another than the formula's. */
export function ownName(state: State, role: Role, tensor: Tensor): string {
  return NAME.test(tensor.name) && tensor.name !== symbol(state, role) ? tensor.name : "";
}

const PLAIN: Partial<Record<Role, string>> = { x: "X", memory: "Y", q: "Q", k: "K", v: "V", kt: "Kᵀ" };

/** A number of a tensor as code says it: `scores[0,0,1]`. */
export function element(state: State, role: Role, row: number | null, col: number | null): string {
  const tensor = state.tensor(role);
  const name = tensor && NAME.test(tensor.name) ? tensor.name : (PLAIN[role] ?? role);
  const places = [...leading(state, tensor), row === null ? ":" : row, ...(col === null ? [] : [col])];
  return `${name}[${places.join(",")}]`;
}

/** The places on the axes before the last two; none where those axes are not samples and heads in this order. */
function leading(state: State, tensor: Tensor | undefined): number[] {
  if (!tensor || tensor.shape.at(-1) !== tensor.width || tensor.shape.at(-2) !== tensor.height) return [];
  const before = tensor.shape.slice(0, -2);
  const sample = tensor.samples === 1 ? 0 : state.sample.value;
  const head = tensor.heads === 1 ? 0 : state.head.value;
  if (before.length === 2) return [sample, head];
  if (before.length === 1) return [tensor.samples === 1 && tensor.heads > 1 ? head : sample];
  return [];
}

export function axisName(state: State, tensor: Tensor, axis: -1 | -2): string {
  const counted = axis === -1 ? tensor.cols : tensor.rows;
  const letter = tensor.shape.at(axis) === (axis === -1 ? tensor.width : tensor.height) ? tensor.axes.at(axis) : null;
  return [letter ?? "", counted && state.say(`page.axis.${counted}`)].filter(Boolean).join(" ");
}

/** "[B, L, d_k] = [2, 4, 8]". */
export function shapeOf(tensor: Tensor): string {
  const sizes = `[${tensor.shape.join(", ")}]`;
  if (tensor.axes.every((axis) => axis === null)) return sizes;
  return `[${tensor.axes.map((axis, index) => axis ?? tensor.shape[index]).join(", ")}] = ${sizes}`;
}
