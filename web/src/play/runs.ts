// When what is sent: the newest text always wins.

import { Refused, type Looked, type Server } from "./server";

/** With findings, when typing has paused for so long (ms). */
const PAUSED = 600;
/** While a run is at work, one that takes its place begins when there was no key for so long (ms). */
const BREATH = 25;

export interface Told {
  /** A text was run. `newest`: it is still the one in the editor. */
  looked(answer: Looked, text: string, newest: boolean): void;
  /** Its findings have come. */
  judged(answer: Looked): void;
  failed(error: unknown): void;
}

/** Runs the text of one tab. */
export class Runs {
  private edit = 0;
  private text = "";
  private running: AbortController | null = null;
  private waiting = false;
  private timer = 0;

  constructor(
    private readonly server: Server,
    readonly tab: string,
    private readonly told: Told,
  ) {}

  /** Another text. A text that is typed ends the run of the older one; while a number slides, that is let finish. */
  run(text: string, sliding: boolean): void {
    this.edit++;
    this.text = text;
    clearTimeout(this.timer);
    if (sliding && this.running) {
      this.waiting = true;
      return;
    }
    if (this.running) this.timer = window.setTimeout(() => void this.look(), BREATH);
    else void this.look();
  }

  /** The answer to a topic of `why`, about the text as it stands. */
  async why(topic: string) {
    const { edit } = this;
    const answer = await this.server.why(this.tab, edit, this.text, topic);
    // Of an older text: nobody waits for it any longer.
    if (answer.ended === "dropped") return new Promise<never>(() => undefined);
    return answer;
  }

  private async look(): Promise<void> {
    this.running?.abort();
    const running = (this.running = new AbortController());
    this.waiting = false;
    const { edit, text } = this;
    try {
      const answer = await this.server.look(this.tab, edit, text, false, running.signal);
      if (answer.ended !== "dropped") this.told.looked(answer, text, edit === this.edit);
      if (edit === this.edit) this.timer = window.setTimeout(() => void this.judge(), PAUSED);
    } catch (error) {
      if (!running.signal.aborted) this.told.failed(error);
    }
    if (this.running !== running) return;
    this.running = null;
    if (this.waiting) void this.look();
  }

  private async judge(): Promise<void> {
    const { edit, text } = this;
    const ended = new AbortController();
    try {
      const answer = await this.server.look(this.tab, edit, text, true, ended.signal);
      if (edit === this.edit) this.told.judged(answer);
    } catch (error) {
      // Findings are an addition: what is wrong with the server shows at the next edit.
      if (error instanceof Refused) this.told.judged({ ended: "died", says: null, printed: "", scene: null });
    }
  }
}
