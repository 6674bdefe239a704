/** What tells each path from the others: the number in it, or all of it; its place where it has no path. */
export function shortened(labels: string[]): string[] {
  const numbers = labels.map((label) => /\d+/.exec(label)?.[0]);
  const enough = numbers.every(Boolean) && new Set(numbers).size === labels.length;
  return labels.map((label, index) => (label === "" ? String(index + 1) : enough ? (numbers[index] ?? label) : label));
}
