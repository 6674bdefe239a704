// The playground: an editor in the place of the page's source, and a server that runs what is in it.

import { batch, effect } from "@preact/signals";
import { render } from "preact";
import type { Handle, Words } from "./main";
import { keep, kept } from "./play/draft";
import { Editor, type Remark } from "./play/editor";
import { Runs } from "./play/runs";
import { Refused, Server, type Answered, type Looked, type Started } from "./play/server";
import * as state from "./play/state";
import { say } from "./play/state";
import { Playground } from "./play/views";
import { FORMAT, type Both, type Finding, type Language, type Scene, type Why } from "./scene";
import "./play/play.css";

interface Settings {
  language: Language;
  nonce: string;
  proxied: boolean;
  words: Words;
  topics: { topic: string; title: Both }[];
}

/** What is wrong is told when typing has paused for so long (ms): half a word is no mistake. */
const PATIENCE = 400;
const SPOKEN = "attnlab-play-language";

class Play {
  private readonly server: Server;
  private readonly runs: Runs;
  private readonly editor: Editor;
  private readonly page: Handle;
  private findings: Finding[] = [];
  private why: Why[];
  /** The text that they belong to. */
  private found = "";
  private hovered: number | null = null;
  private asking: Promise<Answered> | null = null;
  /** The notice that a run had no answer: the next answer takes it away. */
  private fault: typeof state.notice.value = null;
  private timer = 0;
  private mark: string;

  constructor(
    private readonly root: HTMLElement,
    private readonly settings: Settings,
    private readonly started: Started,
    server: Server,
  ) {
    this.server = server;
    this.why = this.topics();
    const draft = kept(started.name);
    const text = draft?.text ?? started.text;
    this.mark = draft?.mark ?? started.mark;
    this.runs = new Runs(server, name(), this);
    this.editor = new Editor(text, settings.nonce, {
      changed: (text, sliding) => this.changed(text, sliding),
      save: () => void this.save(),
      hovered: (line) => {
        if (line !== this.hovered) this.page.highlight((this.hovered = line));
      },
      chosen: (line) => this.page.go(line),
    });
    state.name.value = started.name;
    state.savable.value = started.savable;
    state.dirty.value = text !== started.text;
    if (state.dirty.value) state.notice.value = { says: (spoken) => say("kept", {}, spoken), bad: false };

    const box = document.createElement("div");
    box.className = "play";
    const actions = {
      slide: (name: string, value: number) => this.editor.slide(name, value),
      save: () => void this.save(),
      restore: () => this.editor.replace(this.started.text),
      go: (line: number) => (this.editor.go(line), this.editor.view.focus()),
    };
    render(<Playground editor={this.editor.view.dom} actions={actions} />, box);
    this.page = window.attnlab!.mount(root, this.nothing(), settings.words, {
      editor: box,
      language: state.language.value,
      why: (topic) => this.answer(topic),
      onHighlight: (codes) => this.editor.light(codes),
      onLine: (line, file) => file === 0 && this.editor.go(line),
    });
    this.follow();
    this.runs.run(text, false);
  }

  looked(answer: Looked, text: string, newest: boolean): void {
    const { scene } = answer;
    const good = answer.ended === "whole" && scene !== null && !scene.error && (!answer.says || scene.told.length > 0);
    batch(() => {
      state.loading.value = false;
      if (state.notice.value === this.fault) state.notice.value = null;
      if (newest && answer.sliders?.length) this.editor.places = answer.sliders;
      if (newest || good) state.printed.value = answer.printed;
      this.slide();
    });
    if (good) {
      void this.draw(answer, scene, text);
    } else if (newest) {
      // While somebody types, what is wrong may be wrong for a moment only.
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.fail(answer), PATIENCE);
    }
  }

  judged(answer: Looked): void {
    const { scene } = answer;
    state.checking.value = false;
    if (!scene || scene.error || answer.ended !== "whole" || state.picture.value !== "fresh") return;
    this.findings = scene.findings;
    this.editor.remark(this.findings.filter((finding) => finding.file === 0).map((finding) => remark(finding)));
    void this.join(scene);
  }

  /** Show the findings; where somebody waits for an answer, with the answer: another scene would close it. */
  private async join(scene: Scene): Promise<void> {
    const { found } = this;
    await this.asking?.catch(() => undefined);
    if (found === this.editor.text) await this.show(scene);
  }

  failed(error: unknown): void {
    const says = (spoken: Language): string => {
      if (!(error instanceof Refused)) return say("gone", {}, spoken);
      if (error.status === 403) return say("token", {}, spoken);
      return error.status === 413 ? say("long", {}, spoken) : say("failed", { status: error.status }, spoken);
    };
    state.notice.value = this.fault = { says, bad: true };
    if (state.picture.value !== "none") state.picture.value = "stale";
  }

  /** There is a picture of this text. */
  private async draw(answer: Looked, scene: Scene, text: string): Promise<void> {
    clearTimeout(this.timer);
    // Findings of another text may stand at other lines by now.
    if (text !== this.found) {
      this.findings = [];
      this.why = this.topics();
    }
    this.found = text;
    await this.show(scene);
    batch(() => {
      const newest = text === this.editor.text;
      state.picture.value = newest ? "fresh" : "late";
      state.checking.value = newest;
      state.problem.value = null;
      state.note.value = answer.says;
    });
  }

  private show(scene: Scene): Promise<void> {
    const own = { program: this.started.name, why: this.why, findings: this.findings, lang: state.language.value };
    return this.page.update({ ...scene, ...own });
  }

  /** The text has no picture: the last one stays, and is seen to be an older one. */
  private fail(answer: Looked): void {
    const error = answer.ended === "whole" ? answer.scene?.error : null;
    batch(() => {
      if (state.picture.value !== "none") state.picture.value = "stale";
      state.note.value = answer.says;
      state.problem.value = error
        ? (spoken) => ({
            title: error.message ? `${error.type}: ${error.message}` : error.type,
            line: error.file === 0 ? error.line : null,
            text: error.diagnosis[spoken],
          })
        : null;
    });
    const title = error ? `${error.type}: ${error.message}` : "";
    const here = error && error.file === 0 && error.line !== null;
    this.editor.remark(here ? [{ line: error.line!, endLine: error.line!, severity: "error", message: title }] : []);
  }

  private changed(text: string, sliding: boolean): void {
    keep(this.started.name, { text, mark: this.mark });
    clearTimeout(this.timer);
    this.asking = null;
    batch(() => {
      state.notice.value = null;
      state.dirty.value = text !== this.started.text;
      state.checking.value = false;
      if (state.picture.value === "fresh") state.picture.value = "late";
      this.slide();
    });
    this.runs.run(text, sliding);
  }

  /** The sliders, from what stands in the text. */
  private slide(): void {
    state.sliders.value = this.editor.places.map(({ name, value, seed }) => ({
      name,
      value,
      seed,
      max: state.most(name, value, seed),
    }));
  }

  private async save(): Promise<void> {
    const { text } = this.editor;
    if (!this.started.savable) return download(this.started.name, text);
    try {
      const { mark, says } = await this.server.save(text, this.mark);
      if (mark) this.mark = mark;
      if (says) {
        state.notice.value = { says: (spoken) => says[spoken], bad: true };
        return;
      }
      this.started.text = text;
      state.dirty.value = this.editor.text !== text;
      state.notice.value = { says: (spoken) => say("saved", { name: this.started.name }, spoken), bad: false };
      keep(this.started.name, { text: this.editor.text, mark: this.mark });
    } catch (error) {
      this.failed(error);
    }
  }

  private async answer(topic: string): Promise<Both> {
    const { found } = this;
    const asking = (this.asking = this.runs.why(topic));
    const answer = await asking;
    const text = answer.text ?? answer.says;
    if (!text) throw new Error(answer.ended);
    if (found === this.found) this.why = this.why.map((why) => (why.topic === topic ? { ...why, text } : why));
    return text;
  }

  /** What can be asked, not answered yet. */
  private topics(): Why[] {
    return this.settings.topics.map(({ topic, title }) => ({ topic, title, text: null }));
  }

  /** The scene before there is one. */
  private nothing(): Scene {
    const empty = { summary: [], files: [], told: [], rest: [], findings: [], why: [], notes: [] };
    return { attnlab_scene: FORMAT, lang: this.settings.language, program: this.started.name, error: null, printed: "", ...empty };
  }

  /** What is said goes with the page's language, and what the picture is worth is seen on the page. */
  private follow(): void {
    new MutationObserver(() => (state.language.value = this.page.language)).observe(this.root, { attributeFilter: ["lang"] });
    effect(() => {
      const spoken = state.language.value;
      sessionStorage.setItem(SPOKEN, spoken);
      document.documentElement.lang = spoken === "zh" ? "zh-Hans" : spoken;
      this.editor.speak(state.phrases(spoken), say("editor", {}, spoken));
    });
    effect(() => {
      this.root.dataset.picture = state.picture.value;
      const said = { late: "late", stale: "stale" }[state.picture.value as string];
      this.root.style.setProperty("--play-says", said ? JSON.stringify(say(said)) : "none");
    });
  }
}

function remark(finding: Finding): Remark {
  const { line, end_line: endLine } = finding;
  return { line, endLine, severity: "warning", message: `${finding.code} ${finding.message[state.language.peek()]}` };
}

/** A name for this page, for as long as it is shown: two tabs have two, and so have two copies of one. */
function name(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/x-python" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function start(root: HTMLElement, settings: Settings): Promise<void> {
  state.use(settings.words);
  const spoken = sessionStorage.getItem(SPOKEN);
  state.language.value = spoken === "zh" || spoken === "en" ? spoken : settings.language;
  const server = new Server(settings.proxied);
  try {
    const started = await server.start();
    if (started.text === undefined) throw new Error();
    new Play(root, settings, started, server);
  } catch (error) {
    const text = document.createElement("p");
    text.className = "play-lost";
    text.role = "alert";
    text.textContent = say(error instanceof Refused && error.status === 403 ? "token" : "gone");
    root.replaceChildren(text);
  }
}

void start(document.getElementById("play")!, JSON.parse(document.getElementById("words")!.textContent) as Settings);
