import type { Blob as Packed } from "../scene";

/** The bytes of a blob: base64 and raw deflate undone. Inflating happens off the main thread. */
export async function unpack(blob: Packed): Promise<ArrayBuffer> {
  const text = "base64" in blob ? blob.base64 : (document.getElementById(blob.element)?.textContent ?? "").trim();
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).arrayBuffer();
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  // Newer browsers do it natively, several times as fast.
  const native = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
