import { expect, test } from "@jest/globals";
import { MessageSplitter } from "@sluice/proto/lib/rpc/message-splitter.js";
import fc from "../support/properties.js";

const framed = (bytes: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
};

/** Splits bytes into messages; the chunks repeat these sizes. */
function split(bytes: Buffer, sizes: readonly number[], maxBytes = 1_000): Buffer[] {
  const messages: Buffer[] = [];
  const splitter = new MessageSplitter(maxBytes, (chunk, start, end) => {
    // A copy, because the bytes may change later.
    messages.push(Buffer.from(chunk.subarray(start, end)));
  });
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    splitter.push(bytes.subarray(at, at + size));
    at += size;
  }
  return messages;
}

test("gRPC messages are found in any pieces of bytes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 10 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
      (messages, sizes) => {
        const found = split(Buffer.concat(messages.map(framed)), sizes);
        expect(found.map((message) => message.toString("hex"))).toEqual(
          messages.map((message) => Buffer.from(message).toString("hex")),
        );
      },
    ),
    { numRuns: 1_000 },
  );
});

test("a gRPC message over the size limit is refused before any of it is kept", () => {
  const prefix = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
  for (const sizes of [[5], [1], [2, 3]]) expect(() => split(prefix, sizes)).toThrow("at most 1000 bytes");
});

test("a compressed gRPC message is refused", () => {
  expect(() => split(Buffer.from([1, 0, 0, 0, 1, 0]), [6])).toThrow();
  expect(split(framed(Buffer.alloc(1_000)), [5]).map(({ length }) => length)).toEqual([1_000]);
});
