/** All ways to read a request's bytes as text. */

export const utf16be = (text: string): Buffer => Buffer.from(text, "utf16le").swap16();

/** The text in UTF-32, little-endian. */
export function utf32(text: string): Buffer {
  const points = Array.from(text, (letter) => letter.codePointAt(0) as number);
  const bytes = Buffer.alloc(points.length * 4);
  points.forEach((point, index) => bytes.writeUInt32LE(point, index * 4));
  return bytes;
}

/** A body with its files, read as UTF-8 only, as by the strictest receiver. */
export function utf8Of(body: string): string {
  const files = Array.from(body.matchAll(/[\w+/]{16,}=*/g), ([encoded]) => Buffer.from(encoded, "base64").toString());
  return [body, ...files].join("\n");
}

/** A body in UTF-8 with all base64 in it, each decoded as UTF-8, Latin-1 and UTF-16, and without invisible characters. */
export function readingsOf(body: string): string {
  const files = Array.from(body.matchAll(/[\w+/-]{16,}/g), ([encoded]) => Buffer.from(encoded, "base64"));
  return [Buffer.from(body), ...files].flatMap(decoded).join("\n");
}

function decoded(bytes: Buffer): string[] {
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const texts = [
    bytes.toString(),
    bytes.toString("latin1"),
    bytes.toString("utf16le"),
    Buffer.from(even).swap16().toString("utf16le"),
  ];
  // UTF-32 is UTF-16 with a zero next to each character of the first plane.
  return texts.map((text) => text.replaceAll(/[\0\u00ad\ufeff]/g, ""));
}
