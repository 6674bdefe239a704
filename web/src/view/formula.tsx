import type { ComponentChildren, JSX } from "preact";
import type { State } from "../state";

type Piece = { text: string; key: string };

/** A formula as MathML. What belongs to the step in hand is marked; a piece leads to its step. */
export function Formula({ state, pieces }: { state: State; pieces: Piece[] }) {
  const on = new Set(state.part.value?.marks ?? []);
  const choose = (key: string) => {
    const parts = state.told.peek()?.parts ?? [];
    // Of the steps that a piece belongs to, the one that it stands for most.
    const having = parts.map((part, index) => ({ part, index })).filter(({ part }) => part.marks.includes(key));
    having.sort((a, b) => a.part.marks.length - b.part.marks.length);
    if (having[0]) state.setStep(having[0].index);
  };
  const wrap = ({ key }: Piece, inside: ComponentChildren) => (
    <mrow class={`piece${on.has(key) ? " on" : ""}${key ? " leads" : ""}`} onClick={() => key && choose(key)}>
      {inside}
    </mrow>
  );
  return (
    <math display="inline" class="formula">
      <mrow>{lay(pieces, wrap)}</mrow>
    </math>
  );
}

type Wrap = (piece: Piece, inside: ComponentChildren) => JSX.Element;

/** The pieces in a row; what is divided stands above what it is divided by. */
function lay(pieces: Piece[], wrap: Wrap): ComponentChildren[] {
  const row: { node: ComponentChildren; depth: number }[] = [];
  let depth = 0;
  for (const piece of pieces) {
    const text = piece.text.trim();
    const opens = count(text, "(") - count(text, ")");
    if (text.startsWith("/")) {
      // All that stands in the same brackets is divided, or behind the same "=".
      const first = row.findLastIndex((item) => item.depth < depth || item.depth === SET) + 1;
      const above = row.splice(first).map((item) => item.node);
      const node = (
        <mfrac>
          <mrow>{above}</mrow>
          {wrap(piece, symbols(text.slice(1)))}
        </mfrac>
      );
      row.push({ node, depth });
    } else {
      // A bracket that opens stands outside of what it holds, and so does the one that closes.
      const outside = Math.min(depth, depth + opens);
      row.push({ node: wrap(piece, symbols(text)), depth: text.endsWith("=") ? SET : outside });
      depth += opens;
    }
  }
  return row.map((item) => item.node);
}

// Where a formula says whose it is, nothing before it is divided.
const SET = -1;

function count(text: string, sign: string): number {
  return text.split(sign).length - 1;
}

// A sign at the start of a piece stands between two all the same.
const INFIX = { form: "infix" };

const SYMBOL = /([A-Za-z]\w*?)_(\w+?)(ᵀ)?(?![\w])|([A-Za-z]+|\d+(?:\.\d+)?)(ᵀ)?|√|[^\sA-Za-z√]|\s+/gu;

/** A text as symbols: `K_iᵀ` is K with an index, turned; `√d_k` is a root. */
function symbols(text: string): ComponentChildren[] {
  const found: ComponentChildren[] = [];
  let rooted = false;
  for (const match of text.matchAll(SYMBOL)) {
    const [whole, base, index, turn, plain, plainTurn] = match;
    if (whole === "√") {
      rooted = true;
      continue;
    }
    let node: ComponentChildren;
    if (base) node = <Indexed base={base} index={index ?? ""} turn={turn} />;
    else if (plain) node = plainTurn ? <msup>{word(plain)}<mo>⊤</mo></msup> : word(plain);
    else if (/^\s+$/.test(whole)) continue;
    else if (/[+·⊙]/.test(whole)) node = <mo {...INFIX}>{whole}</mo>;
    else node = <mo>{whole}</mo>;
    found.push(rooted ? <msqrt>{node}</msqrt> : node);
    rooted = false;
  }
  return found;
}

function Indexed({ base, index, turn }: { base: string; index: string; turn: string | undefined }) {
  return turn ? (
    <msubsup>
      {word(base)}
      {word(index)}
      <mo>⊤</mo>
    </msubsup>
  ) : (
    <msub>
      {word(base)}
      {word(index)}
    </msub>
  );
}

function word(text: string): JSX.Element {
  if (/^\d/.test(text)) return <mn>{text}</mn>;
  return text.length > 1 ? <mtext>{text}</mtext> : <mi>{text}</mi>;
}
