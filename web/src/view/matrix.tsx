import { useLayoutEffect, useRef } from "preact/hooks";
import { draw } from "../canvas";
import { palette, scaleOf } from "../colour";
import { number } from "../format";
import { marks, type Mark } from "../marks";
import type { Role, Tensor } from "../scene";
import type { State } from "../state";
import { axisName, symbol } from "./names";

interface Props {
  state: State;
  role: Role;
  tensor: Tensor;
  /** The size of a cell on the page. */
  wide: number;
  high: number;
  /** Whether a cell has room for its number. */
  numbers: boolean;
  /** In the flow a picture is a button for its step; elsewhere its cells are pointed at. */
  onChoose?: () => void;
}

/** A tensor's matrix, drawn to scale, with what belongs to the cell in hand marked. */
export function MatrixView({ state, role, tensor, wide, high, numbers, onChoose }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const matrix = state.matrix(role);
  const dark = state.dark.value;
  const [width, height] = [Math.max(3, tensor.width * wide), Math.max(3, tensor.height * high)];

  useLayoutEffect(() => {
    if (canvas.current && matrix) draw(canvas.current, matrix, scaleOf(role, tensor), { width, height, numbers, dark });
  }, [matrix, role, tensor, width, height, numbers, dark]);

  const cellAt = (event: { offsetX: number; offsetY: number }) => ({
    role,
    row: Math.max(0, Math.min(tensor.height - 1, Math.floor((event.offsetY / height) * tensor.height))),
    col: Math.max(0, Math.min(tensor.width - 1, Math.floor((event.offsetX / width) * tensor.width))),
  });
  const point = (event: PointerEvent) => {
    state.role.value = role;
    if (onChoose) state.glance(cellAt(event));
    else state.point(cellAt(event));
  };
  const leave = () => {
    if (state.role.peek() === role) state.role.value = null;
    if (onChoose) state.back();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const moved = move(event, state, role, tensor);
    if (!moved) return;
    event.preventDefault();
    event.stopPropagation();
    state.pinned.value = false;
    state.point(moved);
  };

  const stacked = tensor.samples * tensor.heads > 1 ? " stacked" : "";
  const missing = matrix === null ? " missing" : "";
  const label = describe(state, role, tensor);
  return (
    <div
      class={`matrix${stacked}${missing}`}
      style={{ width: `${width}px`, height: `${height}px` }}
      data-role={role}
      {...(onChoose
        ? { onClick: onChoose }
        : {
            tabIndex: 0,
            role: "application",
            "aria-roledescription": state.say("page.picture.matrix"),
            "aria-label": label,
            onKeyDown,
            onFocus: () => (state.role.value = role),
            onBlur: leave,
            onClick: (event: MouseEvent) => state.pin(cellAt(event)),
          })}
      onPointerMove={point}
      onPointerLeave={leave}
    >
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} aria-hidden="true" />
      <Marks state={state} role={role} tensor={tensor} wide={width / tensor.width} high={height / tensor.height} />
    </div>
  );
}

/** The row, the column or the cell that has to do with the cell in hand. */
function Marks({ state, role, tensor, wide, high }: Pick<Props, "state" | "role" | "tensor" | "wide" | "high">) {
  const cell = state.cell.value;
  if (!cell) return null;
  const found = (marks(cell)[role] ?? []).filter(
    ({ row = 0, col = 0 }) => row < tensor.height && col < tensor.width,
  );
  const own = cell.role === role;
  return (
    <>
      {found.map((mark) => (
        <i class={`mark ${kind(mark)}${own ? " own" : ""}`} style={box(mark, tensor, wide, high)} />
      ))}
    </>
  );
}

function kind({ row, col }: Mark): string {
  return row === undefined ? "column" : col === undefined ? "row" : "cell";
}

// However small its cells are, a mark can be seen.
const SEEN = 3;

function box({ row, col }: Mark, tensor: Tensor, wide: number, high: number): Record<string, string> {
  const along = (index: number | undefined, size: number, count: number) => {
    if (index === undefined) return [0, size * count] as const;
    const length = Math.max(size, SEEN);
    return [Math.max(0, Math.min(index * size + (size - length) / 2, size * count - length)), length] as const;
  };
  const [left, width] = along(col, wide, tensor.width);
  const [top, height] = along(row, high, tensor.height);
  return { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` };
}

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
  PageUp: [-Infinity, 0],
  PageDown: [Infinity, 0],
};

function move(event: KeyboardEvent, state: State, role: Role, tensor: Tensor) {
  const step = STEPS[event.key];
  if (!step || event.ctrlKey || event.altKey || event.metaKey) return null;
  const cell = state.cell.peek();
  const [row, col] = cell?.role === role ? [cell.row, cell.col] : [0, 0];
  const within = (index: number, count: number) => Math.max(0, Math.min(index, count - 1));
  return { role, row: within(row + step[0], tensor.height), col: within(col + step[1], tensor.width) };
}

function describe(state: State, role: Role, tensor: Tensor): string {
  const side = (axis: -1 | -2) => `${axisName(state, tensor, axis) || "·"} = ${axis === -1 ? tensor.width : tensor.height}`;
  return state.say("page.picture.label", { name: symbol(state, role), rows: side(-2), cols: side(-1) });
}

/** What the colours of a tensor mean. */
export function Legend({ state, role, tensor }: Pick<Props, "state" | "role" | "tensor">) {
  const scale = scaleOf(role, tensor);
  const colours = palette(state.dark.value);
  const matrix = state.matrix(role);
  const exact = matrix?.data instanceof Float32Array && matrix.data.includes(-Infinity);
  const hidden = role !== "mask" && (exact || matrix?.hidden !== undefined);
  return (
    <span class="legend">
      <span class="name">{symbol(state, role)}</span>
      <span class="end">{number(scale.low, 2)}</span>
      <i class="bar" style={{ background: colours.gradient(scale) }} aria-hidden="true" />
      <span class="end">{number(scale.high, 2)}</span>
      {hidden && (
        <>
          <i class="swatch" style={{ background: colours.css(scale, -Infinity) }} aria-hidden="true" />
          <span class="end">−∞</span>
        </>
      )}
    </span>
  );
}
