import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { bitmap } from "../canvas";
import { scaleOf } from "../colour";
import { unpack } from "../data/blobs";
import { matrixOf, reduced, type Matrix } from "../data/matrix";
import type { Layer, Tensor } from "../scene";
import type { State } from "../state";

const SIDE = 26;

/** The weights of all layers and heads, small, a row for each layer: which head does what, at a glance. */
export function Atlas({ state }: { state: State }) {
  const [open, setOpen] = useState(false);
  const layers = state.told.value?.layers ?? [];
  const heads = state.heads.value;
  const box = useRef<HTMLDivElement>(null);
  if (layers.length < 2 || heads < 2 || !layers.every((layer) => layer.tensors.weights?.picture)) return null;

  const choose = (layer: number, head: number) => {
    if (layer < 0 || layer >= layers.length || head < 0 || head >= heads) return;
    state.setLayer(layer);
    state.head.value = head;
    box.current?.querySelectorAll<HTMLElement>("button")[layer * heads + head]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined || right === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose(state.layerAt.peek() + down, state.head.peek() + right);
  };
  return (
    <details class="atlas" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{state.say("page.choose.all", { layers: layers.length, heads })}</summary>
      {open && (
        <div class="scrolled">
          <div
            class="grid"
            style={{ "--heads": heads }}
            ref={box}
            onKeyDown={onKeyDown}
            role="group"
            aria-label={state.say("page.choose.all", { layers: layers.length, heads })}
          >
            {layers.map((layer, index) => (
              <Row key={index} state={state} layer={layer} index={index} heads={heads} choose={choose} />
            ))}
          </div>
        </div>
      )}
    </details>
  );
}

// One layer after another is unpacked, made small and let go, so that neither time nor memory is taken at once.
let queue: Promise<void> = Promise.resolve();
const made = new WeakMap<Tensor, Map<number, Matrix[]>>();

async function small(tensor: Tensor, sample: number, heads: number): Promise<Matrix[]> {
  const picture = tensor.picture;
  const blob = picture?.blobs[Math.min(sample, picture.samples - 1)];
  if (!blob) return [];
  const buffer = await unpack(blob);
  const held = { get: () => buffer };
  return Array.from({ length: heads }, (_, head) => matrixOf(held, tensor, sample, head)).flatMap((matrix) =>
    matrix ? [reduced(matrix, SIDE)] : [],
  );
}

interface RowProps {
  state: State;
  layer: Layer;
  index: number;
  heads: number;
  choose: (layer: number, head: number) => void;
}

function Row({ state, layer, index, heads, choose }: RowProps) {
  const tensor = layer.tensors.weights as Tensor;
  const sample = state.sample.value;
  const [, setDone] = useState<Matrix[]>();
  const matrices = made.get(tensor)?.get(sample);
  useEffect(() => {
    if (matrices) return;
    let left = false;
    queue = queue.then(async () => {
      if (left) return;
      const found = await small(tensor, sample, heads).catch(() => []);
      made.set(tensor, new Map(made.get(tensor)).set(sample, found));
      setDone(found);
      await new Promise((resolve) => setTimeout(resolve));
    });
    return () => void (left = true);
  }, [tensor, sample, heads]);
  const chosen = index === state.layerAt.value;
  return (
    <div class="row">
      <span class="text" title={layer.label}>
        {layer.label || index + 1}
      </span>
      {Array.from({ length: heads }, (_, head) => {
        const on = chosen && head === state.head.value;
        const label = state.say("page.choose.layer_head", { layer: layer.label || index + 1, head });
        return (
          <button
            type="button"
            aria-label={label}
            title={label}
            aria-pressed={on}
            tabIndex={on ? 0 : -1}
            onClick={() => choose(index, head)}
          >
            <Small matrix={matrices?.[head]} tensor={tensor} dark={state.dark.value} />
          </button>
        );
      })}
    </div>
  );
}

function Small({ matrix, tensor, dark }: { matrix: Matrix | undefined; tensor: Tensor; dark: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || !matrix) return;
    [canvas.current.width, canvas.current.height] = [matrix.width, matrix.height];
    context.drawImage(bitmap(matrix, scaleOf("weights", tensor), dark), 0, 0);
  }, [matrix, tensor, dark]);
  return <canvas ref={canvas} width={1} height={1} aria-hidden="true" />;
}
