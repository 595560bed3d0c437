/** Decodes compressed request bodies, as sent by Codex. The decoded bytes are counted, since a small body could expand to any size. */
import { once } from "node:events";
import type { Transform } from "node:stream";
import zlib from "node:zlib";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

export type CreateDecoder = () => Transform;

/** Node supports zstd since 22.15; the types of version 20 lack it. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: CreateDecoder };

const decoders: ReadonlyMap<string, CreateDecoder> = new Map<string, CreateDecoder>([
  ["gzip", () => zlib.createGunzip()],
  ["x-gzip", () => zlib.createGunzip()],
  ["deflate", () => zlib.createInflate()],
  ["br", () => zlib.createBrotliDecompress()],
  ...(createZstdDecompress ? [["zstd", createZstdDecompress] as const] : []),
]);

/** Supported codings, as the value of the header Accept-Encoding in a refusal. */
export const bodyCodings = [...decoders.keys()].filter((name) => name !== "x-gzip").join(", ");

/**
 * The decoder for the body of a request.
 * @param coding value of `content-encoding`
 * @returns undefined for an uncompressed body
 * @throws Fault INVALID_REQUEST for another coding, and for several at once
 */
export function decoderOf(coding: string): CreateDecoder | undefined {
  const names = coding.split(",").map((name) => name.trim().toLowerCase());
  const [first, ...more] = names.filter((name) => name !== "" && name !== "identity");
  if (first === undefined) return undefined;
  const found = more.length === 0 ? decoders.get(first) : undefined;
  if (!found) throw invalid("content-encoding", `content-encoding not supported; take one of ${bodyCodings}, or none`);
  return found;
}

/**
 * Decodes a body.  @param receive reads the body and passes each chunk on; it waits for the returned promise before reading more  @param keep takes a
 * decoded chunk; may return a promise, for which decoding waits  @throws Fault INVALID_REQUEST for invalid bytes, and errors of `receive` and `keep`
 */
export async function decodeBody(
  create: CreateDecoder,
  receive: (take: (chunk: Buffer) => Promise<void> | void) => Promise<void>,
  keep: (chunk: Buffer) => Promise<void> | void,
): Promise<void> {
  const decoder = create();
  // A chunk that arrives after a failure would be written to the closed decoder; its error is ignored.
  decoder.on("error", () => {});
  const received = receive((chunk) => {
    if (!decoder.destroyed && !decoder.write(chunk)) return once(decoder, "drain").then(() => {});
  }).then(() => void decoder.end());
  received.catch((error: Error) => decoder.destroy(error));
  try {
    for await (const chunk of decoder) await keep(chunk as Buffer);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw invalid("content-encoding", "the body is not what content-encoding says, or not whole");
  } finally {
    decoder.destroy();
  }
  await received;
}
