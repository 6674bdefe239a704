// Numbers as people read them: four digits, a real minus sign, ∞ where Python says inf.

const MINUS = "−";

export function number(value: number, digits = 4): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return signed(String(value));
  const size = Math.abs(value);
  if (size >= 1e5 || size < 0.5 * 10 ** -digits) return signed(value.toExponential(1));
  const whole = size >= 1 ? Math.floor(Math.log10(size)) : 0;
  return signed(value.toFixed(Math.max(0, digits - whole)));
}

/** A number for a cell of a picture: two digits after the point, or fewer. */
export function short(value: number): string {
  if (!Number.isFinite(value) || Number.isInteger(value)) return number(value);
  const size = Math.abs(value);
  if (size >= 1e4 || size < 0.0005) return signed(value.toExponential(0));
  return signed(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.005 ? 2 : 3));
}

/** In brackets where it is negative, so that it can stand behind a sign. */
export function factor(value: number): string {
  return value < 0 ? `(${number(value)})` : number(value);
}

function signed(text: string): string {
  return text.replaceAll("-", MINUS);
}
