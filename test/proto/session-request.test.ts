/** Messages to inference-svc as bytes: written in parts, and read by the general way. */
import { create, fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { type ClientFrame, SessionRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { encodeRequest } from "@sluice/proto/runtime/session/encode-request.js";

const open = (turn: number, inputBytes: number) => ({
  turn,
  frame: {
    case: "open" as const,
    value: {
      keyHash: "k",
      requestId: "r",
      deadlineMs: 5,
      request: { model: "m", inputJson: Buffer.alloc(inputBytes, "x"), toolsJson: Buffer.from("[]"), topP: 0.5 },
    },
  },
});
const credit = { turn: 7, frame: { case: "credit" as const, value: 9 } };

test.each([
  ["nothing", []],
  ["a small turn", [open(1, 10)]],
  ["a large turn", [open(300, 70_000)]],
  ["a large turn among others", [credit, open(1, 70_000), open(2, 1)]],
  ["a credit", [credit]],
])("%s means what was said", (_, frames) => {
  const message = create(SessionRequestSchema, { frames: frames as unknown as ClientFrame[] });
  expect(fromBinary(SessionRequestSchema, encodeRequest(message))).toEqual(message);
});

test("a turn of 32 MiB is not cut", () => {
  const bytes = 32 * 1024 * 1024;
  const frames = [open(1, bytes)] as unknown as ClientFrame[];
  const [read] = fromBinary(SessionRequestSchema, encodeRequest(create(SessionRequestSchema, { frames }))).frames;
  const input = (read?.frame.case === "open" && read.frame.value.request?.inputJson) || Buffer.alloc(0);
  expect([input.length, Buffer.alloc(bytes, "x").equals(input)]).toEqual([bytes, true]);
});
