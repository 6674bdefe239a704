/** A name as in a formula: `d_k` with its index below. The underscore stays in the text, for who copies or searches it. */
export function Indexed({ text }: { text: string }) {
  return (
    <>
      {text.split(/(?<![\p{L}\p{N}_])(\p{L})_([\p{L}\p{N}])(?![\p{L}\p{N}_])/u).map((part, index, parts) => {
        if (index % 3 === 0) return part;
        if (index % 3 === 1) return null;
        return (
          <span class="indexed">
            {parts[index - 1]}
            <i>_</i>
            <sub>{part}</sub>
          </span>
        );
      })}
    </>
  );
}
