import { batch, computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { Appearance, type Words } from "./appearance";
import { hiddenBy, matrixOf, sharedHead, turned, type Matrix } from "./data/matrix";
import { Store } from "./data/store";
import type { Both, Code, Language, Layer, Part, Role, Scene, Tensor, Told } from "./scene";

/** A line of a file, counted from 1. */
export interface Place {
  file: number;
  line: number;
}

/** A cell of the matrix in hand: row and column of the whole matrix. */
export interface Cell {
  role: Role;
  row: number;
  col: number;
}

/** What a page is given by what it stands in. */
export interface Options {
  /** The language to begin with, instead of the scene's own. */
  language?: Language;
  /** Shown in the place of the source, by the playground. */
  editor?: HTMLElement;
  /** Asks for the answer to a topic of `why` whose text the scene does not hold. */
  why?: (topic: string) => Promise<Both>;
  /** The code that belongs to what is pointed at; [] where nothing is. */
  onHighlight?: (codes: Code[]) => void;
  /** A line was chosen on the page: an editor may go there. */
  onLine?: (line: number, file: number) => void;
}

/** Which tensor a tensor is turned from, where the scene has only that one. */
const TURNED: Partial<Record<Role, Role>> = { kt: "k" };

const AFTER: Role[] = ["merged", "projected"];

/** What is shown, and what is chosen of it. Views read its signals; nothing else changes them. */
export class State extends Appearance {
  readonly store = new Store();
  readonly scene: Signal<Scene>;
  readonly fileAt = signal(0);
  readonly toldAt = signal(0);
  readonly layerAt = signal(0);
  readonly stepAt = signal(0);
  readonly sample = signal(0);
  readonly head = signal(0);

  /** The cell that is worked out, and whether it stays while the pointer moves on. */
  readonly cell: Signal<Cell | null> = signal(null);
  readonly pinned = signal(false);
  /** The line and the tensor that are pointed at. */
  readonly place: Signal<Place | null> = signal(null);
  readonly role: Signal<Role | null> = signal(null);

  /** What was in hand before a glance. */
  private before: { cell: Cell | null } | null = null;

  readonly told: ReadonlySignal<Told | undefined> = computed(() => this.scene.value.told[this.toldAt.value]);
  readonly layer: ReadonlySignal<Layer | undefined> = computed(() => this.told.value?.layers[this.layerAt.value]);
  readonly part: ReadonlySignal<Part | undefined> = computed(() => this.told.value?.parts[this.stepAt.value]);
  /** How many samples and heads there are to choose: as many as some tensor has numbers of. */
  readonly samples: ReadonlySignal<number> = computed(() => this.most("samples"));
  readonly heads: ReadonlySignal<number> = computed(() => this.most("heads"));
  /** The tensors that the line that is pointed at makes. */
  readonly lit: ReadonlySignal<ReadonlySet<Role>> = computed(() => {
    const place = this.place.value;
    if (this.role.value) return new Set([this.role.value]);
    return new Set(place ? this.rolesAt(place) : []);
  });

  constructor(
    scene: Scene,
    words: Words,
    readonly options: Options,
  ) {
    super(options.language ?? scene.lang, words);
    this.scene = signal(scene);
    this.aim();
  }

  tensor(role: Role): Tensor | undefined {
    const tensors = this.layer.value?.tensors;
    const found = tensors?.[role];
    if (found) return found;
    const from = TURNED[role] && tensors?.[TURNED[role]];
    return from && turnedTensor(from);
  }

  /** The numbers of a tensor for the sample and head in hand. undefined: on the way; null: not kept. */
  matrix(role: Role, sample = this.sample.value, head = this.head.value): Matrix | null | undefined {
    const own = this.layer.value?.tensors[role];
    const from = TURNED[role];
    const tensor = own ?? (from && this.layer.value?.tensors[from]);
    if (!tensor) return null;
    const heads = this.layer.value?.tensors.q?.heads ?? tensor.heads;
    const matrix = matrixOf(this.store, tensor, sample, sharedHead(tensor, head, heads));
    if (!matrix) return matrix;
    if (role === "masked") return hiddenBy(matrix, this.matrix("mask", sample, head));
    return own ? matrix : turned(matrix);
  }

  setTold(index: number): void {
    batch(() => {
      this.toldAt.value = index;
      this.layerAt.value = 0;
      this.stepAt.value = 0;
      this.clamp();
      this.aim();
    });
  }

  setLayer(index: number): void {
    batch(() => {
      this.layerAt.value = index;
      this.clamp();
    });
  }

  setStep(index: number): void {
    const steps = this.told.value?.parts.length ?? 0;
    if (index < 0 || index >= steps) return;
    batch(() => {
      this.stepAt.value = index;
      this.pinned.value = false;
      this.before = null;
      const files = this.codes().map((code) => code.file);
      if (files[0] !== undefined && !files.includes(this.fileAt.value)) this.fileAt.value = files[0];
      this.aim();
    });
  }

  /** Take a cell in hand. One that is pinned gives way only to `pin`. */
  point(cell: Cell): void {
    if (this.pinned.value) return;
    const old = this.cell.peek();
    if (old && old.role === cell.role && old.row === cell.row && old.col === cell.col) return;
    this.cell.value = cell;
  }

  /** Look at a cell in passing; `back` takes the one before in hand again. */
  glance(cell: Cell): void {
    this.before ??= { cell: this.cell.peek() };
    this.point(cell);
  }

  back(): void {
    if (this.before && !this.pinned.peek()) this.cell.value = this.before.cell;
    this.before = null;
  }

  pin(cell: Cell): void {
    const old = this.cell.peek();
    const same = old !== null && old.role === cell.role && old.row === cell.row && old.col === cell.col;
    batch(() => {
      this.pinned.value = !(same && this.pinned.peek());
      this.cell.value = cell;
    });
  }

  /** Go to the step that a line belongs to: the one in hand, if it is one of them. */
  go(place: Place): void {
    const parts = this.told.value?.parts ?? [];
    const has = (part: Part) => part.items.some((item) => item.codes.some((code) => covers(code, place)));
    const current = this.part.value;
    if (current && has(current)) return;
    const index = parts.findIndex(has);
    if (index >= 0) this.setStep(index);
  }

  /** What the step in hand reads and makes. A mask comes from outside, and is laid on what is read. */
  flow(part: Part | undefined = this.part.value): { reads: Role[]; makes: Role[] } {
    const here = (role: Role) => this.tensor(role) !== undefined;
    const parts = this.told.value?.parts ?? [];
    const after = part ? parts.slice(parts.indexOf(part) + 1) : [];
    // What becomes of the output belongs to the step that does it, even where a call before returned it.
    const later = (role: Role) => AFTER.includes(role) && after.some((other) => other.makes.includes(role));
    const reads = part?.reads.filter(here) ?? [];
    const makes = part?.makes.filter((role) => here(role) && !later(role)) ?? [];
    if (!makes.includes("mask") || makes.length === 1) return { reads, makes };
    const others = makes.filter((role) => role !== "mask");
    return { reads: [...new Set<Role>([...reads, "mask"])], makes: others };
  }

  /** What a tensor is made from, of what the scene has: one call may do several steps at once. */
  sources(role: Role): Role[] {
    const here = (roles: Role[]) => roles.filter((other) => this.tensor(other) !== undefined);
    const last = (roles: Role[]) => here(roles).slice(-1);
    switch (role) {
      case "q":
        return here(["x"]);
      case "k":
      case "v":
        return last(["x", "memory"]);
      case "kt":
        return here(["k"]);
      case "scores":
        return here(["q", "kt"]);
      case "scaled":
        return here(["scores"]);
      case "masked":
        return [...last(["scores", "scaled"]), ...here(["mask"])];
      case "weights":
        return last(["scores", "scaled", "masked"]);
      case "output":
        return here(["weights", "v"]);
      case "merged":
        return here(["output"]);
      case "projected":
        return last(["output", "merged"]);
      default:
        return [];
    }
  }

  /** The code of the step in hand. */
  codes(): Code[] {
    return this.part.value?.items.flatMap((item) => item.codes) ?? [];
  }

  /** Another scene in the place of this one; what is chosen stays chosen where it still exists. */
  async replace(scene: Scene): Promise<void> {
    const name = (part: Part | undefined) => part?.names.map((both) => both.en).join();
    const step = name(this.part.peek());
    const told = scene.told[this.toldAt.peek()] ?? scene.told[0];
    const layer = told?.layers[this.layerAt.peek()] ?? told?.layers[0];
    // Unpacked before it is shown, so that no picture is empty in between.
    const blobs = Object.values(layer?.tensors ?? {}).map((tensor) => {
      const picture = tensor.picture;
      return picture?.blobs[Math.min(this.sample.peek(), picture.samples - 1)];
    });
    await Promise.all(blobs.map((blob) => blob && this.store.ready(blob)));
    batch(() => {
      this.scene.value = scene;
      const parts = this.told.value?.parts ?? [];
      const same = parts.findIndex((part) => name(part) === step);
      if (same >= 0) this.stepAt.value = same;
      this.clamp();
      this.aim();
    });
  }

  /** Keep what is chosen within what there is. */
  private clamp(): void {
    const scene = this.scene.value;
    const within = (chosen: Signal<number>, count: number) => {
      chosen.value = Math.max(0, Math.min(chosen.value, count - 1));
    };
    within(this.fileAt, scene.files.length);
    within(this.toldAt, scene.told.length);
    within(this.layerAt, this.told.value?.layers.length ?? 0);
    within(this.stepAt, this.told.value?.parts.length ?? 0);
    within(this.sample, this.samples.value);
    within(this.head, this.heads.value);
  }

  /** Take a cell of the step's own tensor in hand: the same place as before, where there is one. */
  private aim(): void {
    const old = this.cell.value;
    const made = this.flow().makes;
    const role = old && made.includes(old.role) ? old.role : made[0];
    const tensor = role && this.tensor(role);
    if (!role || !tensor) {
      this.cell.value = null;
      return;
    }
    // Under a causal mask the first query sees the first key alone.
    const start = this.tensor("mask") ? { row: 1, col: 0 } : { row: 0, col: 1 };
    const { row, col } = old ?? start;
    this.cell.value = { role, row: Math.min(row, tensor.height - 1), col: Math.min(col, tensor.width - 1) };
  }

  private rolesAt(place: Place): Role[] {
    const tensors = Object.entries(this.layer.value?.tensors ?? {}) as [Role, Tensor][];
    return tensors.filter(([, tensor]) => tensor.codes.some((code) => covers(code, place))).map(([role]) => role);
  }

  private most(what: "samples" | "heads"): number {
    const tensors = Object.values(this.layer.value?.tensors ?? {});
    return Math.max(1, ...tensors.map((tensor) => Math.min(tensor[what], tensor.picture?.[what] ?? 1)));
  }
}

/** Whether a line is one of those of a piece of code. */
export function covers(code: Code, place: Place): boolean {
  if (code.file !== place.file) return false;
  if (code.lines.includes(place.line)) return true;
  return code.spans.some(([first, , last]) => first <= place.line && place.line <= last);
}

const turnedTensors = new WeakMap<Tensor, Tensor>();

function turnedTensor(tensor: Tensor): Tensor {
  let found = turnedTensors.get(tensor);
  if (!found) {
    const swap = <T>(items: T[]) => [...items.slice(0, -2), ...items.slice(-2).reverse()];
    found = {
      ...tensor,
      name: "",
      codes: [],
      shape: swap(tensor.shape),
      axes: swap(tensor.axes),
      rows: tensor.cols,
      cols: tensor.rows,
      height: tensor.width,
      width: tensor.height,
    };
    turnedTensors.set(tensor, found);
  }
  return found;
}
