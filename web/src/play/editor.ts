// The editor: CodeMirror with Python, the numbers that sliders stand for, and what is lit from the page.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  type DecorationSet,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Code } from "../scene";
import type { Place } from "./server";

/** A line, counted from 1, with something to say of it. */
export interface Remark {
  line: number;
  endLine: number;
  severity: "error" | "warning";
  message: string;
}

export interface Listeners {
  /** The text is another one; `sliding` where a slider changed it. */
  changed(text: string, sliding: boolean): void;
  save(): void;
  /** The pointer is on a line, or on none. */
  hovered(line: number | null): void;
  /** A line was clicked. */
  chosen(line: number): void;
}

const setPlaces = StateEffect.define<Place[]>();
const setLit = StateEffect.define<Code[]>();
const sliding = Annotation.define<boolean>();

/** Where the sliders' numbers stand, carried along as the text changes. */
const places = StateField.define<Place[]>({
  create: () => [],
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setPlaces)) return effect.value;
    if (!transaction.docChanged) return value;
    return value.map((place) => ({
      ...place,
      start: transaction.changes.mapPos(place.start, -1),
      end: transaction.changes.mapPos(place.end, 1),
    }));
  },
});

/** The code that belongs to what is pointed at on the page. */
const lit = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(setLit)) return decorated(effect.value, transaction.state.doc);
    }
    return value.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const litLine = Decoration.line({ class: "cm-lit-line" });
const litCode = Decoration.mark({ class: "cm-lit" });

function decorated(codes: Code[], doc: Text): DecorationSet {
  const here = codes.filter((code) => code.file === 0);
  const lines = here.flatMap((code) => code.lines).filter((line) => line >= 1 && line <= doc.lines);
  const spans = here.flatMap((code) => code.spans).map(([line, column, endLine, endColumn]) => {
    return [offset(doc, line, column), offset(doc, endLine, endColumn)] as const;
  });
  const marks = [
    ...[...new Set(lines)].map((line) => litLine.range(doc.line(line).from)),
    ...spans.filter(([from, to]) => from < to).map(([from, to]) => litCode.range(from, to)),
  ];
  return Decoration.set(marks, true);
}

function offset(doc: Text, line: number, column: number): number {
  if (line < 1) return 0;
  if (line > doc.lines) return doc.length;
  const at = doc.line(line);
  return Math.min(at.from + column, at.to);
}

export class Editor {
  readonly view: EditorView;
  private readonly phrases = new Compartment();
  private readonly label = new Compartment();

  constructor(text: string, nonce: string, listeners: Listeners) {
    const update = EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      listeners.changed(update.state.doc.toString(), update.transactions.some((one) => one.annotation(sliding)));
    });
    const lineAt = (event: MouseEvent, view: EditorView): number | null => {
      const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
      return position === null ? null : view.state.doc.lineAt(position).number;
    };
    const pointer = EditorView.domEventHandlers({
      mousemove: (event, view) => listeners.hovered(lineAt(event, view)),
      mouseleave: () => listeners.hovered(null),
      click: (event, view) => {
        const line = lineAt(event, view);
        if (line !== null) listeners.chosen(line);
      },
    });
    const save = { key: "Mod-s", preventDefault: true, run: () => (listeners.save(), true) };
    this.view = new EditorView({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce),
        this.phrases.of([]),
        this.label.of([]),
        lineNumbers(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        history(),
        drawSelection(),
        EditorState.allowMultipleSelections.of(true),
        indentUnit.of("    "),
        EditorState.tabSize.of(4),
        indentOnInput(),
        bracketMatching(),
        highlightSelectionMatches(),
        syntaxHighlighting(classHighlighter),
        python(),
        lintGutter(),
        places,
        lit,
        pointer,
        keymap.of([save, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
        update,
      ],
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** The numbers that sliders stand for, as they stand now; what is no number any longer is left out. */
  get places(): Place[] {
    const { doc } = this.view.state;
    return this.view.state
      .field(places)
      .map((place) => ({ ...place, text: doc.sliceString(place.start, place.end) }))
      .filter((place) => /^[0-9]+$/.test(place.text))
      .map(({ text, ...place }) => ({ ...place, value: Number(text) }));
  }

  set places(found: Place[]) {
    this.view.dispatch({ effects: setPlaces.of(found) });
  }

  /** What the editor says itself, in a language. */
  speak(phrases: Record<string, string>, label: string): void {
    this.view.dispatch({
      effects: [
        this.phrases.reconfigure(EditorState.phrases.of(phrases)),
        this.label.reconfigure(EditorView.contentAttributes.of({ "aria-label": label })),
      ],
    });
  }

  slide(name: string, value: number): void {
    const place = this.places.find((place) => place.name === name);
    if (!place || place.value === value) return;
    this.view.dispatch({
      changes: { from: place.start, to: place.end, insert: String(value) },
      annotations: sliding.of(true),
      userEvent: "input",
    });
  }

  replace(text: string): void {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, userEvent: "input" });
  }

  light(codes: Code[]): void {
    this.view.dispatch({ effects: setLit.of(codes) });
  }

  remark(remarks: Remark[]): void {
    const { doc } = this.view.state;
    const found = remarks
      .filter((remark) => remark.line >= 1 && remark.line <= doc.lines)
      .map((remark): Diagnostic => {
        const line = doc.line(remark.line);
        const indent = line.text.length - line.text.trimStart().length;
        const to = doc.line(Math.min(Math.max(remark.endLine, remark.line), doc.lines)).to;
        return { from: line.from + indent, to, severity: remark.severity, message: remark.message };
      });
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  go(line: number): void {
    const { doc } = this.view.state;
    if (line < 1 || line > doc.lines) return;
    this.view.dispatch({
      selection: { anchor: doc.line(line).from },
      effects: EditorView.scrollIntoView(doc.line(line).from, { y: "center" }),
    });
  }
}
