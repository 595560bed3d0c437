/** Parses JSON from bytes. */

/** Decodes UTF-8 bytes without copying them first. */
export const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
