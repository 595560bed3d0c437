/** Reads JSON that travels as bytes. */

/** The text of UTF-8 bytes, which are not copied first. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
