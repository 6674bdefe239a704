import { at, isHidden, type Matrix } from "./data/matrix";
import type { Role, Tensor } from "./scene";

// Two scales, told apart by people with any kind of colour vision: purple to orange through the colour of the
// page for signed numbers, one green that deepens for shares.

type Rgb = [number, number, number];

const STOPS: Record<"light" | "dark", { signed: string[]; share: string[]; masked: string; broken: string }> = {
  light: {
    signed: ["#3f1d73", "#6f57a6", "#a79fcf", "#d9d8ea", "#f8f6f1", "#fbdfba", "#f2b265", "#cf7615", "#8a4407"],
    share: ["#f5f7f2", "#d3e8dd", "#98cdbb", "#4ea695", "#17786d", "#07504d", "#042f33"],
    masked: "#c9ccd1",
    broken: "#d6006c",
  },
  dark: {
    signed: ["#d3c8ff", "#a792ee", "#7a66bd", "#4a4079", "#20252c", "#63431c", "#a96a1d", "#e79a3c", "#ffd69b"],
    share: ["#1c2428", "#163f40", "#14605c", "#1f877d", "#4db3a2", "#93dcc8", "#dcfaee"],
    masked: "#3a4149",
    broken: "#ff5aa5",
  },
};

export interface Scale {
  kind: "signed" | "share";
  /** The numbers at both ends. */
  low: number;
  high: number;
  /** Shares of many keys are small: below 1, small numbers get more of the scale. */
  gamma: number;
}

/** One scale for a whole tensor, so that samples and heads can be compared. */
export function scaleOf(role: Role, tensor: Tensor): Scale {
  const low = tensor.min ?? 0;
  const high = tensor.max ?? 1;
  if (role === "weights" || (role === "mask" && low >= 0)) {
    return { kind: "share", low: 0, high: high > 0 ? high : 1, gamma: role === "weights" && tensor.width > 32 ? 0.5 : 1 };
  }
  const bound = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return { kind: "signed", low: -bound, high: bound, gamma: 1 };
}

export class Palette {
  readonly masked: number;
  readonly broken: number;
  private readonly tables: Record<Scale["kind"], Uint32Array>;
  private readonly stops: (typeof STOPS)["light"];

  constructor(dark: boolean) {
    this.stops = STOPS[dark ? "dark" : "light"];
    this.tables = { signed: table(this.stops.signed), share: table(this.stops.share) };
    this.masked = pack(parse(this.stops.masked));
    this.broken = pack(parse(this.stops.broken));
  }

  /** A colour as the bytes of an image. */
  of(scale: Scale, value: number): number {
    if (Number.isNaN(value)) return this.broken;
    if (value === -Infinity) return this.masked;
    return this.tables[scale.kind][Math.round(255 * share(scale, value))] ?? this.broken;
  }

  css(scale: Scale, value: number): string {
    const colour = this.of(scale, value);
    return `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255})`;
  }

  /** Black or white: what can be read on it. */
  ink(scale: Scale, value: number): string {
    const colour = this.of(scale, value);
    const luminance = 0.299 * (colour & 255) + 0.587 * ((colour >> 8) & 255) + 0.114 * ((colour >> 16) & 255);
    return luminance > 140 ? "#15191f" : "#ffffff";
  }

  gradient(scale: Scale): string {
    const steps = Array.from({ length: 17 }, (_, index) => scale.low + ((scale.high - scale.low) * index) / 16);
    return `linear-gradient(to right, ${steps.map((value) => this.css(scale, value)).join(", ")})`;
  }

  private hide(pixels: Uint32Array, { height, width }: Matrix, hidden: Matrix): void {
    const [down, across] = [hidden.height - 1, hidden.width - 1];
    for (let row = 0, index = 0; row < height; row++) {
      for (let col = 0; col < width; col++, index++) {
        const value = at(hidden, Math.min(row, down) * hidden.pool, Math.min(col, across) * hidden.pool);
        if (isHidden(value)) pixels[index] = this.masked;
      }
    }
  }

  /** A matrix as an image, a pixel for each cell of its picture. */
  image(matrix: Matrix, scale: Scale): ImageData {
    const { height, width, data } = matrix;
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    if (data instanceof Float32Array) {
      for (let index = 0; index < pixels.length; index++) pixels[index] = this.of(scale, data[index] ?? NaN);
    } else {
      const step = (matrix.high - matrix.low) / 255;
      const colours = Uint32Array.from({ length: 256 }, (_, byte) => this.of(scale, matrix.low + byte * step));
      for (let index = 0; index < pixels.length; index++) pixels[index] = colours[data[index] ?? 0] ?? 0;
      if (matrix.hidden) this.hide(pixels, matrix, matrix.hidden);
    }
    return image;
  }
}

const palettes = new Map<boolean, Palette>();

export function palette(dark: boolean): Palette {
  let found = palettes.get(dark);
  if (!found) palettes.set(dark, (found = new Palette(dark)));
  return found;
}

function share(scale: Scale, value: number): number {
  const part = (value - scale.low) / (scale.high - scale.low);
  return Math.min(1, Math.max(0, part)) ** scale.gamma;
}

function table(stops: string[]): Uint32Array {
  const colours = stops.map(parse);
  return Uint32Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (colours.length - 1);
    const first = Math.min(Math.floor(place), colours.length - 2);
    const [from, to] = [colours[first] as Rgb, colours[first + 1] as Rgb];
    return pack(from.map((value, part) => value + ((to[part] ?? 0) - value) * (place - first)) as Rgb);
  });
}

function parse(colour: string): Rgb {
  return [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16)) as Rgb;
}

// Canvas reads the bytes as red, green, blue, alpha; every machine that browsers run on is little-endian.
function pack([red, green, blue]: Rgb): number {
  return ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}
