/**
 * A text that is laid out in columns, where a Chinese character takes two. Browsers draw one as wide as the font is
 * high, which is less than two of its letters: the style sheet makes up for it.
 */
export function Aligned({ text }: { text: string }) {
  return <>{text.split(WIDE).map((part, index) => (index % 2 === 1 ? <span class="wide">{part}</span> : part))}</>;
}

const WIDE = /([\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]+)/;
