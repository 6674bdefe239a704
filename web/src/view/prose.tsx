/** A sentence, with what stands in backquotes as code. */
export function Prose({ text }: { text: string }) {
  return <>{text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 === 1 ? <code>{part}</code> : part))}</>;
}
