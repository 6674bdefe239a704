import { useLayoutEffect, useRef } from "preact/hooks";
import { bitmap } from "../canvas";
import { scaleOf } from "../colour";
import { reduced, type Matrix } from "../data/matrix";
import { shortened } from "../labels";
import type { Role, Tensor } from "../scene";
import type { State } from "../state";

/** Samples, heads and layers to choose: the same matrix of each, small, beside each other. */
export function Chooser({ state }: { state: State }) {
  const layers = state.told.value?.layers ?? [];
  const [samples, heads] = [state.samples.value, state.heads.value];
  if (samples * heads * layers.length <= 1) return null;
  const short = shortened(layers.map((layer) => layer.label));
  const indices = (count: number) => Array.from({ length: count }, (_, index) => index);
  return (
    <section class="chooser" aria-label={state.say("page.choose.title")}>
      {layers.length > 1 && (
        <Choice
          label={state.say("page.choose.layer")}
          chosen={state.layerAt.value}
          onChoose={(index) => state.setLayer(index)}
          options={layers.map((layer, index) => ({
            label: layer.label || String(index + 1),
            shown: <span class="text">{short[index]}</span>,
          }))}
        />
      )}
      {samples > 1 && (
        <Choice
          label={state.say("page.choose.sample")}
          chosen={state.sample.value}
          onChoose={(index) => (state.sample.value = index)}
          options={indices(samples).map((index) => ({
            label: state.say("page.choose.sample_at", { index }),
            shown: <Thumb state={state} sample={index} head={state.head.value} label={String(index)} />,
          }))}
        />
      )}
      {heads > 1 && (
        <Choice
          label={state.say("page.choose.head")}
          chosen={state.head.value}
          onChoose={(index) => (state.head.value = index)}
          options={indices(heads).map((index) => ({
            label: state.say("page.choose.head_at", { index }),
            shown: <Thumb state={state} sample={state.sample.value} head={index} label={String(index)} />,
          }))}
        />
      )}
    </section>
  );
}

interface ChoiceProps {
  label: string;
  chosen: number;
  onChoose: (index: number) => void;
  options: { label: string; shown: preact.ComponentChildren }[];
}

/** One of several, by pointer or by arrow keys, as radio buttons are. */
function Choice({ label, chosen, onChoose, options }: ChoiceProps) {
  const box = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const next = (chosen + step + options.length) % options.length;
    onChoose(next);
    box.current?.querySelectorAll<HTMLElement>("[role=radio]")[next]?.focus();
  };
  return (
    <div class="choice small" role="radiogroup" aria-label={label} ref={box} onKeyDown={onKeyDown}>
      <span class="label" aria-hidden="true">
        {label}
      </span>
      <div class="options">
        {options.map((option, index) => (
          <button
            type="button"
            role="radio"
            aria-checked={index === chosen}
            aria-label={option.label}
            title={option.label}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => onChoose(index)}
          >
            {option.shown}
          </button>
        ))}
      </div>
    </div>
  );
}

const SMALL = 44;
// Cells on a side of a small picture.
const FINE = 64;

function Thumb({ state, sample, head, label }: { state: State; sample: number; head: number; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const role: Role | undefined = (["weights", "scores", "output", "q"] as const).find((r) => state.tensor(r)?.picture);
  const tensor = role && state.tensor(role);
  const matrix = role && state.matrix(role, sample, head);
  const dark = state.dark.value;
  const size = tensor ? fitted(tensor) : { width: SMALL, height: SMALL };
  useLayoutEffect(() => {
    if (canvas.current && role && tensor && matrix) drawSmall(canvas.current, reduced(matrix, FINE), role, tensor, size, dark);
  }, [matrix, role, tensor, dark]);
  return (
    <>
      <canvas ref={canvas} style={{ width: `${size.width}px`, height: `${size.height}px` }} aria-hidden="true" />
      <span class="text">{label}</span>
    </>
  );
}

function fitted({ width, height }: Tensor) {
  const unit = SMALL / Math.max(width, height);
  return { width: Math.max(6, width * unit), height: Math.max(6, height * unit) };
}

function drawSmall(
  canvas: HTMLCanvasElement,
  matrix: Matrix,
  role: Role,
  tensor: Tensor,
  size: { width: number; height: number },
  dark: boolean,
): void {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  [canvas.width, canvas.height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  const context = canvas.getContext("2d");
  if (!context) return;
  const small = matrix.width <= canvas.width && matrix.height <= canvas.height;
  context.imageSmoothingEnabled = !small;
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap(matrix, scaleOf(role, tensor), dark), 0, 0, canvas.width, canvas.height);
}

