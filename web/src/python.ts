// The words of Python, told apart for colour. What it does not know stays plain.

export type Kind = "plain" | "comment" | "string" | "number" | "keyword" | "name";

export interface Token {
  kind: Kind;
  text: string;
}

const KEYWORDS = new Set(
  (
    "False None True and as assert async await break class continue def del elif else except finally for from global " +
    "if import in is lambda nonlocal not or pass raise return try while with yield"
  ).split(" "),
);

const PATTERN = new RegExp(
  [
    String.raw`(?<comment>#[^\n]*)`,
    String.raw`(?<string>\b[rRbBuUfF]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))`,
    String.raw`(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?)[jJ]?)`,
    String.raw`(?<name>[\p{L}_][\p{L}\p{N}_]*)`,
  ].join("|"),
  "gu",
);

/** The tokens of each line. */
export function tokens(source: string): Token[][] {
  const lines: Token[][] = [[]];
  const add = (kind: Kind, text: string) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      const line = lines[lines.length - 1];
      const last = line?.at(-1);
      if (last?.kind === "plain" && kind === "plain") last.text += part;
      else if (part) line?.push({ kind, text: part });
    });
  };
  let end = 0;
  let before = "";
  for (const match of source.matchAll(PATTERN)) {
    add("plain", source.slice(end, match.index));
    const text = match[0];
    const kind = (Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0] ?? "plain") as Kind;
    if (kind !== "name") add(kind, text);
    else if (KEYWORDS.has(text)) add("keyword", text);
    else add(before === "def" || before === "class" ? "name" : "plain", text);
    before = text;
    end = match.index + text.length;
  }
  add("plain", source.slice(end));
  return lines;
}
