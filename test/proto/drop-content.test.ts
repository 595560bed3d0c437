/** A processed request's content is dropped: every field of JSON, since each one is a view of the whole message. */
import { ScalarType, create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { dropContent } from "@sluice/proto/lib/turns/drop-content.js";

const message = Buffer.alloc(1_000, "{}");
const fields = RunTurnRequestSchema.fields.filter(({ scalar }) => scalar === ScalarType.BYTES);
const named = (view: (n: number) => Uint8Array) =>
  Object.fromEntries(fields.map(({ localName }, n) => [localName, view(n)]));

test("a turn's dropped content stays in no field in memory, and its record still has its names", () => {
  const request = create(RunTurnRequestSchema, {
    ...named((n) => message.subarray(2 * n, 2 * n + 2)),
    model: "acme/large-2",
    user: "ann",
    sessionId: "s",
    instructions: "Be brief",
    plugins: [{ plugin: { case: "web", value: { xSearchJson: message.subarray(0, 2) } } }],
  });
  dropContent(request);
  expect(fields.length).toBeGreaterThan(10);
  const left = fields.filter(({ localName }) => {
    const { buffer } = (request as unknown as Record<string, Uint8Array>)[localName] as Uint8Array;
    return buffer === message.buffer;
  });
  expect(left.map(({ name }) => name)).toEqual([]);
  expect(request).toMatchObject({ model: "acme/large-2", user: "ann", sessionId: "s", instructions: "", plugins: [] });
  expect(Buffer.from(request.traceJson).toString()).toBe("{}");
});
