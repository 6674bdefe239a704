import type { Item, Rest } from "../scene";
import type { State } from "../state";
import { Aligned } from "./aligned";
import { Formula } from "./formula";
import { Indexed } from "./indexed";
import { Prose } from "./prose";

/** The step in hand, in words: the text of `explain`. */
export function Explanation({ state }: { state: State }) {
  const part = state.part.value;
  const told = state.told.value;
  if (!part || !told) return null;
  return (
    <section class="explanation" aria-label={state.say("page.step.text")}>
      {part.items.map((item) => (
        <ItemView state={state} item={item} />
      ))}
    </section>
  );
}

function ItemView({ state, item }: { state: State; item: Item }) {
  return (
    <div class="item">
      {item.codes.length > 0 && (
        <ul class="codes">
          {item.codes.map((code) => (
            <li>
              <span class="number">{code.lines.join(", ")}</span>
              <code>{code.text}</code>
            </li>
          ))}
        </ul>
      )}
      {item.equations.map((equation) => (
        <p class="equation">{equation}</p>
      ))}
      {item.says.map((said) => (
        <p class="says">
          <Prose text={state.text(said)} />
        </p>
      ))}
    </div>
  );
}

// As many as can be looked over; more are a list to open.
const FEW = 5;

/** What is told: its title, its formula, and what its letters stand for. */
export function Overview({ state }: { state: State }) {
  const scene = state.scene.value;
  const told = state.told.value;
  if (!told) return null;
  return (
    <div class="overview">
      {scene.told.length > FEW ? (
        <select
          aria-label={state.say("page.choose.told")}
          value={state.toldAt.value}
          onChange={(event) => state.setTold(Number(event.currentTarget.value))}
        >
          {scene.told.map((other, index) => (
            <option value={index}>
              {index + 1} {state.text(other.title)}
            </option>
          ))}
        </select>
      ) : scene.told.length > 1 ? (
        <div class="choice" role="group" aria-label={state.say("page.choose.told")}>
          {scene.told.map((other, index) => (
            <button type="button" aria-pressed={index === state.toldAt.value} onClick={() => state.setTold(index)}>
              <small>{index + 1}</small> {state.text(other.title)}
            </button>
          ))}
        </div>
      ) : (
        <h2>{state.text(told.title)}</h2>
      )}
      <div class="formulas">
        {told.formulas.map((pieces) => (
          <p>
            <Formula state={state} pieces={pieces} />
          </p>
        ))}
      </div>
      <dl class="letters">
        {told.letters.map(({ letter, size, meaning, names }) => (
          <div title={names.join(", ")}>
            <dt>
              <b>
                <Indexed text={letter} />
              </b>{" "}
              = {size}
            </dt>
            <dd>
              {state.text(meaning)} {names[0] && <code>{names[0]}</code>}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** One step back, which step it is, one step on. */
export function Stepper({ state }: { state: State }) {
  const parts = state.told.value?.parts ?? [];
  const step = state.stepAt.value;
  const part = parts[step];
  if (!part) return null;
  return (
    <div class="stepper">
      <button
        type="button"
        aria-label={state.say("page.step.back")}
        disabled={step === 0}
        onClick={() => state.setStep(step - 1)}
      >
        ←
      </button>
      <button
        type="button"
        aria-label={state.say("page.step.on")}
        disabled={step === parts.length - 1}
        onClick={() => state.setStep(step + 1)}
      >
        →
      </button>
      <h2 aria-live="polite">
        <small>{state.say("page.step.of", { step: step + 1, count: parts.length })}</small>
        {part.names.map((name) => (
          <span>
            <Indexed text={state.text(name)} />
          </span>
        ))}
      </h2>
    </div>
  );
}

/** What is not part of the flow: other steps, notes, what the program printed. */
export function More({ state }: { state: State }) {
  const scene = state.scene.value;
  const notes = [...(state.told.value?.notes ?? []), ...scene.notes];
  return (
    <div class="more">
      {notes.map((note) => (
        <p class="note">{state.text(note)}</p>
      ))}
      {scene.rest.length > 0 && (
        <details open={scene.told.length === 0}>
          <summary>{state.say("page.more.rest", { count: scene.rest.length })}</summary>
          <ul class="rest">
            {scene.rest.map((line) => (
              <RestView state={state} line={line} />
            ))}
          </ul>
        </details>
      )}
      {scene.printed && (
        <details>
          <summary>{state.say("page.more.printed")}</summary>
          <pre>
            <Aligned text={scene.printed} />
          </pre>
        </details>
      )}
    </div>
  );
}

function RestView({ state, line }: { state: State; line: Rest }) {
  const { code, does, shapes, times } = line;
  const place = code && { file: code.file, line: code.lines[0] ?? 0 };
  return (
    <li onPointerEnter={() => (state.place.value = place)} onPointerLeave={() => (state.place.value = null)}>
      <span class="number">{code?.lines.join(", ")}</span>
      <span class="does">
        {code?.text ? <code>{code.text}</code> : state.text(does)}
        {times > 1 && <span class="times"> ×{times}</span>}
      </span>
      <span class="shapes">{shapes.join("  ")}</span>
    </li>
  );
}

/** The error that the program ended in, and what did not fit. */
export function Failure({ state }: { state: State }) {
  const error = state.scene.value.error;
  if (!error) return null;
  return (
    <section class="failure" role="alert">
      <h2>
        {error.type}
        {error.line !== null && <small>{state.say("page.finding.line", { line: error.line })}</small>}
      </h2>
      <pre>{error.message}</pre>
      {state.text(error.diagnosis) && (
        <pre>
          <Aligned text={state.text(error.diagnosis)} />
        </pre>
      )}
    </section>
  );
}

