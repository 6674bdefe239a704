// Matrices drawn on a canvas.

import { palette, type Scale } from "./colour";
import { at, type Matrix } from "./data/matrix";
import { short } from "./format";

interface Drawn {
  width: number;
  height: number;
  numbers: boolean;
  dark: boolean;
}

const FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** Draws a whole matrix, with its numbers where they have room. */
export function draw(canvas: HTMLCanvasElement, matrix: Matrix, scale: Scale, { width, height, numbers, dark }: Drawn): void {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  if (!context) return;
  // Cells stay sharp where they are larger than a dot of the screen, and are averaged where they are smaller.
  context.imageSmoothingEnabled = canvas.width < matrix.width || canvas.height < matrix.height;
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap(matrix, scale, dark), 0, 0, canvas.width, canvas.height);
  context.scale(ratio, ratio);
  const [wide, high] = [width / matrix.cols, height / matrix.rows];
  if (wide >= 7 && high >= 7) lines(context, matrix, wide, high, dark);
  if (numbers) write(context, matrix, scale, wide, high, dark);
}

function lines(context: CanvasRenderingContext2D, matrix: Matrix, wide: number, high: number, dark: boolean): void {
  context.strokeStyle = dark ? "rgb(0 0 0 / 0.35)" : "rgb(255 255 255 / 0.65)";
  context.lineWidth = 1;
  context.beginPath();
  for (let row = 1; row < matrix.rows; row++) {
    context.moveTo(0, row * high);
    context.lineTo(matrix.cols * wide, row * high);
  }
  for (let col = 1; col < matrix.cols; col++) {
    context.moveTo(col * wide, 0);
    context.lineTo(col * wide, matrix.rows * high);
  }
  context.stroke();
}

function write(
  context: CanvasRenderingContext2D,
  matrix: Matrix,
  scale: Scale,
  wide: number,
  high: number,
  dark: boolean,
): void {
  const colours = palette(dark);
  context.font = `${Math.min(12, (wide - 4) / 3.05)}px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = 0; row < matrix.rows; row++) {
    for (let col = 0; col < matrix.cols; col++) {
      const value = at(matrix, row, col);
      context.fillStyle = colours.ink(scale, value);
      context.fillText(short(value), (col + 0.5) * wide, (row + 0.5) * high + 0.5);
    }
  }
}

/** The picture of a matrix, a pixel for each cell. It is drawn from once, and not kept: large ones are large. */
export function bitmap(matrix: Matrix, scale: Scale, dark: boolean): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [matrix.width, matrix.height];
  canvas.getContext("2d")?.putImageData(palette(dark).image(matrix, scale), 0, 0);
  return canvas;
}
