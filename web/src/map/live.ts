import { signal, type Signal } from "@preact/signals";
import { token } from "../token";
import type { AtlasScene } from "./atlas";

/** A part of an attention: queries and keys, the last ones not included. */
export interface Window {
  layer: number;
  head: number;
  sample: number;
  rows: [number, number];
  keys: [number, number];
}

/** Exact weights of a window, row by row. */
export type Weights = Float32Array;

const KEPT = "attnlab-map-token";
const HEADER = "X-Attnlab-Token";
/** As many weights as the server gives at once. */
export const MOST = 512 * 512;
const REMEMBERED = 24;

/** The server refused, or failed. */
export class Refused extends Error {
  constructor(readonly status: number) {
    super(`status ${status}`);
  }
}

/** The server of a live page: it computes exact weights where they are asked for. */
export class Live {
  private readonly token = token(KEPT);
  private readonly known = new Map<string, Signal<Weights | null | undefined>>();

  async atlas(): Promise<AtlasScene> {
    return (await this.ask("atlas", {})).json() as Promise<AtlasScene>;
  }

  /** The weights of a window. undefined: on the way; null: they could not be had. */
  window(window: Window): Weights | null | undefined {
    const name = JSON.stringify(window);
    let found = this.known.get(name);
    if (!found) {
      this.known.set(name, (found = signal(undefined)));
      void this.load(window, found);
      for (const old of this.known.keys()) {
        if (this.known.size <= REMEMBERED) break;
        this.known.delete(old);
      }
    }
    return found.value;
  }

  private async load(window: Window, into: Signal<Weights | null | undefined>): Promise<void> {
    try {
      into.value = new Float32Array(await (await this.ask("window", window)).arrayBuffer());
    } catch {
      into.value = null;
    }
  }

  private async ask(what: string, body: unknown): Promise<Response> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (this.token) headers[HEADER] = this.token;
    const answer = await fetch(`api/${what}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Refused(answer.status);
    return answer;
  }
}
