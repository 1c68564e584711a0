// Makes a screenshot small enough for a README: 256 colours, each pixel one byte.

import { crc32, deflateSync, inflateSync } from "node:zlib";

// withPalette takes a PNG as Chromium writes it, of 8 bits a channel and not
// interlaced, and returns it with the palette of its most frequent colours.
export function withPalette(png) {
  const { width, height, bytes, rows } = read(png);
  const counts = new Map();
  for (let at = 0; at < rows.length; at += bytes) {
    const colour = (rows[at] << 16) | (rows[at + 1] << 8) | rows[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [];
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    // After the grounds, near ones are one: they leave room for the colours of small things.
    if (palette.length < 40 || (palette.length < 256 && !palette.some((p) => distance(p, colour) < 60))) palette.push(colour);
  }
  const nearest = new Map([...counts.keys()].map((c) => [c, palette.reduce((best, p, i) => (distance(p, c) < distance(palette[best], c) ? i : best), 0)]));
  const out = Buffer.alloc(height * (width + 1)); // each row begins with its filter, none
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += bytes) out[y * (width + 1) + 1 + x] = nearest.get((rows[at] << 16) | (rows[at + 1] << 8) | rows[at + 2]);
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8);
  return Buffer.concat([
    png.subarray(0, 8),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]))),
    chunk("IDAT", deflateSync(out, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

function read(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const bytes = { 2: 3, 6: 4 }[png[25]];
  if (png[24] !== 8 || !bytes || png[28] !== 0) throw new Error("not a screenshot of Chromium's");
  const packed = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") packed.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(packed));
  const stride = width * bytes;
  const rows = Buffer.alloc(height * stride);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x < bytes ? 0 : rows[y * stride + x - bytes];
      const up = y === 0 ? 0 : rows[(y - 1) * stride + x];
      const corner = x < bytes || y === 0 ? 0 : rows[(y - 1) * stride + x - bytes];
      rows[y * stride + x] = raw[y * (stride + 1) + 1 + x] + [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
    }
  }
  return { width, height, bytes, rows };
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((v) => Math.abs(guess - v));
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
