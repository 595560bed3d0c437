/** Messages servers with missing or mixed up events: no text is lost or added to the wrong call. */
import { expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { runAgainstServer, outcomeOf, readItems, sseReply } from "./odd-server.js";

const begin = (index: number, block: unknown) => ({ type: "content_block_start", index, content_block: block });
const delta = (index: number | undefined, change: unknown) => ({ type: "content_block_delta", index, delta: change });
const stop = (index: number) => ({ type: "content_block_stop", index });
const call = (id: string) => ({ type: "tool_use", id, name: `tool_${id}`, input: {} });
const json = (text: string) => ({ type: "input_json_delta", partial_json: text });
const words = (text: string) => ({ type: "text_delta", text });
const start = { type: "message_start", message: { usage: { input_tokens: 3, output_tokens: 1 } } };
const end = (reason: string) => [
  { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 4 } },
  { type: "message_stop" },
];

const asked = (...events: readonly unknown[]) => runAgainstServer(sseReply(start, ...events), { dialect: "messages" });

test("a Messages answer with interleaved parts of calls is a failure", async () => {
  const mixed = [begin(0, call("a")), begin(1, call("b")), delta(0, json('{"x":1}')), delta(1, json('{"y":2}'))];
  const { fault } = await asked(...mixed, stop(0), stop(1), ...end("tool_use"));
  expect(fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
});

test("a Messages answer with a part of a call without a beginning is a failure", async () => {
  const { fault } = await asked(delta(0, json("{}")), ...end("tool_use"));
  expect(fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
});

test("text and reasoning of a Messages answer are read without a beginning", async () => {
  const ending = await asked(
    delta(0, { type: "thinking_delta", thinking: "Hm." }),
    delta(1, words("It is ")),
    delta(1, words("noon.")),
    ...end("end_turn"),
  );
  expect(readItems(ending)).toEqual([{ thought: "Hm." }, "It is noon."]);
  expect(outcomeOf(ending).status).toBe("completed");
});

test.each([
  ["all blocks at the same place", 0, 0],
  ["blocks that never stop", 0, 1],
])("a server of the Messages format with %s is understood", async (_, first, second) => {
  const ending = await asked(
    begin(first, call("a")),
    delta(first, json('{"x":1}')),
    begin(second, call("b")),
    delta(second, json('{"y":2}')),
    ...end("tool_use"),
  );
  expect(readItems(ending)).toEqual([
    { call: "tool_a", arguments: '{"x":1}' },
    { call: "tool_b", arguments: '{"y":2}' },
  ]);
});

test("deltas of a Messages answer are read without the number of their block", async () => {
  const ending = await asked(
    begin(0, { type: "text", text: "" }),
    delta(undefined, words("Noon.")),
    ...end("end_turn"),
  );
  expect(readItems(ending)).toEqual(["Noon."]);
});
