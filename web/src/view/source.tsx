import { useComputed, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { tokens, type Kind, type Token } from "../python";
import type { Code, Finding } from "../scene";
import { covers, type State } from "../state";
import { Prose } from "./prose";

/** The user's source, with what is in hand and what is pointed at, and findings at their lines. */
export function Source({ state }: { state: State }) {
  const scene = state.scene.value;
  const fileAt = state.fileAt.value;
  const file = scene.files[fileAt];
  const box = useRef<HTMLDivElement>(null);
  // Read by the lines themselves: a source may have thousands, of which a step changes a few.
  const codes = useComputed(() => state.codes());
  const lit = useComputed(() => litCodes(state));
  const told = useComputed(() => toldLines(state));
  useSignalEffect(() => {
    const first = codes.value.find((code) => code.file === state.fileAt.value)?.lines[0];
    if (box.current && first !== undefined) show(box.current, first);
  });
  if (!file) return null;

  return (
    <section class="source" aria-label={state.say("page.source.title")}>
      <div class="files">
        {scene.files.length === 1 ? (
          <h2>{file.name}</h2>
        ) : (
          <div role="tablist" aria-label={state.say("page.source.files")}>
            {scene.files.map((other, index) => (
              <button
                type="button"
                role="tab"
                aria-selected={index === fileAt}
                onClick={() => (state.fileAt.value = index)}
              >
                {other.name}
              </button>
            ))}
          </div>
        )}
      </div>
      <div class="lines" ref={box} tabIndex={0} onPointerLeave={() => (state.place.value = null)}>
        {cached(file.text).map((line, index) => (
          <Line
            key={`${fileAt} ${index}`}
            state={state}
            file={fileAt}
            line={index + 1}
            tokens={line}
            codes={codes}
            lit={lit}
            told={told}
          />
        ))}
      </div>
    </section>
  );
}

/** Scrolls a line into sight. The page itself does not move: only the pane, where it has its own way to scroll. */
function show(box: HTMLElement, number: number): void {
  const line = box.querySelector<HTMLElement>(`[data-line="${number}"]`);
  if (!line || box.scrollHeight <= box.clientHeight) return;
  const [above, below] = [box.scrollTop, box.scrollTop + box.clientHeight];
  if (line.offsetTop > above + 30 && line.offsetTop < below - 80) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  box.scrollTo({ top: line.offsetTop - box.clientHeight / 3, behavior: still ? "auto" : "smooth" });
}

const texts = new Map<string, Token[][]>();

function cached(text: string): Token[][] {
  let found = texts.get(text);
  if (!found) {
    texts.clear();
    texts.set(text, (found = tokens(text)));
  }
  return found;
}

/** The code of the tensor that is pointed at. */
export function litCodes(state: State): Code[] {
  const role = state.role.value;
  return (role && state.tensor(role)?.codes) || [];
}

/** The lines that lead to a step. */
function toldLines(state: State): ReadonlySet<number> {
  const items = state.told.value?.parts.flatMap((part) => part.items) ?? [];
  const codes = items.flatMap((item) => item.codes).filter((code) => code.file === state.fileAt.value);
  return new Set(codes.flatMap((code) => [...code.lines, ...code.spans.flatMap(([first, , last]) => range(first, last))]));
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

interface LineProps {
  state: State;
  file: number;
  line: number;
  tokens: Token[];
  codes: ReadonlySignal<Code[]>;
  lit: ReadonlySignal<Code[]>;
  told: ReadonlySignal<ReadonlySet<number>>;
}

function Line({ state, file, line, tokens, codes, lit, told }: LineProps) {
  const place = { file, line };
  const covered = (all: Code[]) => all.some((code) => covers(code, place));
  const marks = (all: Code[]) => JSON.stringify(spans(all, place));
  // As texts and truths, which stay the same for most lines: only those are drawn again for which they change.
  const isCurrent = useComputed(() => covered(codes.value));
  const isLit = useComputed(() => covered(lit.value));
  const isTold = useComputed(() => told.value.has(line));
  const isPointed = useComputed(() => state.place.value?.file === file && state.place.value.line === line);
  const marked = useComputed(() => marks([...codes.value, ...lit.value]));
  const { findings, error } = state.scene.value;
  const here = findings.filter((finding) => finding.file === file && finding.line <= line && line <= finding.end_line);
  const ends = here.filter((finding) => finding.end_line === line);
  const failed = error?.file === file && error.line === line;
  const looks = [
    "line",
    isCurrent.value && "current",
    isLit.value && "lit",
    isPointed.value && "pointed",
    isTold.value && "told",
  ];
  return (
    <>
      <div
        class={looks.filter(Boolean).join(" ")}
        data-line={line}
        onPointerEnter={() => (state.place.value = place)}
        onClick={() => {
          if (!getSelection()?.isCollapsed) return;
          state.go(place);
          state.options.onLine?.(line, file);
        }}
      >
        {isTold.value ? (
          <button type="button" class="number" aria-label={state.say("page.source.go", { line })} tabIndex={0}>
            {line}
          </button>
        ) : (
          <span class="number">{line}</span>
        )}
        <code>{wavy(pieces(tokens, toSpans(marked.value)), failed ? "wavy failed" : here.length > 0 ? "wavy" : "")}</code>
      </div>
      {ends.map((finding) => (
        <FindingView state={state} finding={finding} />
      ))}
      {failed && ends.length === 0 && (
        <div class="finding failed" role="note">
          <p>
            <b>{error?.type}</b> {error?.message}
          </p>
        </div>
      )}
    </>
  );
}

const END = 1e9;

function toSpans(marks: string): [number, number][] {
  return JSON.parse(marks) as [number, number][];
}

/** From and to which column a line is marked. */
function spans(codes: Code[], { file, line }: { file: number; line: number }): [number, number][] {
  return codes.flatMap((code) =>
    code.file !== file
      ? []
      : code.spans
          .filter(([first, , last]) => first <= line && line <= last)
          .map(([first, from, last, to]): [number, number] => [line === first ? from : 0, line === last ? to : END]),
  );
}

/** The code of a line underlined, but for the room before it and the comment behind it. */
function wavy(found: { kind: Kind; text: string; on: boolean }[], look: string) {
  const drawn = found.map(({ kind, text, on }) =>
    kind === "plain" && !on ? text : <span class={`${kind}${on ? " on" : ""}`}>{text}</span>,
  );
  if (drawn.length === 0) return "\n";
  if (!look) return drawn;
  const first = found[0]?.text.trim() === "" ? 1 : 0;
  const comment = found.findIndex(({ kind }) => kind === "comment");
  const last = comment < 0 ? drawn.length : comment;
  const room = found[last - 1]?.text ?? "";
  const [code, after] = typeof drawn[last - 1] === "string" ? [room.trimEnd(), room.slice(room.trimEnd().length)] : [null, ""];
  const middle = code === null ? drawn.slice(first, last) : [...drawn.slice(first, last - 1), code];
  return [...drawn.slice(0, first), <span class={look}>{middle}</span>, after, ...drawn.slice(last)];
}

/** Tokens, cut where a mark begins or ends. */
function pieces(tokens: Token[], marks: [number, number][]) {
  const found: { kind: Kind; text: string; on: boolean }[] = [];
  let column = 0;
  for (const { kind, text } of tokens) {
    const end = column + text.length;
    // What a line is set in by is a piece of its own.
    const inset = column === 0 ? text.length - text.trimStart().length : 0;
    const cuts = [...new Set([column, column + inset, ...marks.flat().filter((at) => column < at && at < end), end])].sort((a, b) => a - b);
    for (let index = 0; index + 1 < cuts.length; index++) {
      const [from, to] = [cuts[index] ?? 0, cuts[index + 1] ?? 0];
      const part = text.slice(from - column, to - column);
      const blank = part.trim() === "" && kind === "plain";
      const on = marks.some(([first, last]) => first <= from && to <= last) && !(blank && from === 0);
      found.push({ kind, text: part, on });
    }
    column = end;
  }
  return found;
}

/** A finding beneath its line, as an editor shows it. */
export function FindingView({ state, finding, line }: { state: State; finding: Finding; line?: boolean }) {
  return (
    <div class="finding" role="note">
      <p>
        <b>{finding.code}</b> <span class="slug">{finding.slug}</span>
        {line && <span class="slug">{state.say("page.finding.line", { line: finding.line })}</span>}
      </p>
      <p>
        <Prose text={state.text(finding.message)} />
      </p>
      {finding.evidence.length > 0 && (
        <p class="evidence">
          <span class="label">{state.say("page.finding.evidence")}</span>
          <span>{finding.evidence.map((text) => state.text(text)).join("\n")}</span>
        </p>
      )}
      {finding.fix && (
        <p class="fix">
          <span class="label">{state.say("page.finding.fix")}</span>
          <span>
            <Prose text={state.text(finding.fix)} />
          </span>
        </p>
      )}
    </div>
  );
}

/** Beside an editor, which holds the source itself, findings are listed. */
export function Findings({ state }: { state: State }) {
  const findings = state.scene.value.findings;
  if (findings.length === 0) return null;
  return (
    <section class="findings" aria-label={state.say("page.finding.title")}>
      {findings.map((finding) => (
        <FindingView state={state} finding={finding} line />
      ))}
    </section>
  );
}

/** What stands in the place of the source. */
export function Editor({ element }: { element: HTMLElement }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.replaceChildren(element);
  }, [element]);
  return <div class="editor" ref={box} />;
}
