// What the server is asked, and what it answers.

import type { Both, Scene } from "../scene";
import { token } from "../token";

/** A number in the text that a slider stands for: from its first character to behind its last. */
export interface Place {
  name: string;
  value: number;
  start: number;
  end: number;
  seed: boolean;
}

export interface Started {
  name: string;
  text: string;
  /** Names this text of the file: it is saved over no other. */
  mark: string;
  savable: boolean;
}

export interface Looked {
  ended: "whole" | "time" | "memory" | "output" | "effect" | "died" | "dropped";
  says: Both | null;
  printed: string;
  scene: Scene | null;
  sliders?: Place[];
}

export interface Answered {
  ended: string;
  says?: Both | null;
  text?: Both;
}

export interface Saved {
  mark?: string;
  says?: Both;
}

/** The server refused, or failed. */
export class Refused extends Error {
  constructor(readonly status: number) {
    super(`status ${status}`);
  }
}

const KEPT = "attnlab-play-token";
const HEADER = "X-Attnlab-Token";

/** The server, asked as the one who has the token. */
export class Server {
  private readonly token: string | null;

  /** `proxied`: a proxy adds the token to what is asked. */
  constructor(proxied: boolean) {
    this.token = proxied ? null : token(KEPT);
  }

  start(): Promise<Started> {
    return this.ask("start", {});
  }

  look(tab: string, edit: number, text: string, thorough: boolean, signal: AbortSignal): Promise<Looked> {
    return this.ask("look", { tab, edit, text, thorough }, signal);
  }

  why(tab: string, edit: number, text: string, topic: string): Promise<Answered> {
    return this.ask("why", { tab, edit, text, topic });
  }

  save(text: string, mark: string): Promise<Saved> {
    return this.ask("save", { text, mark });
  }

  /** Relative, so that it works under whatever path a proxy puts it. */
  private async ask<T>(what: string, body: unknown, signal?: AbortSignal): Promise<T> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (this.token) headers[HEADER] = this.token;
    const answer = await fetch(`api/${what}`, { method: "POST", headers, body: JSON.stringify(body), signal });
    const said = answer.headers.get("Content-Type")?.startsWith("application/json");
    if (!said || (!answer.ok && answer.status !== 409)) throw new Refused(answer.status);
    return answer.json() as Promise<T>;
  }
}
