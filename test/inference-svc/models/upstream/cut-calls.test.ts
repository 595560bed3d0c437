/** Arguments that break off make an answer incomplete, wrong ones do not; joined ones are separate calls. */
import { describe, expect, test } from "@jest/globals";
import { Output } from "@sluice/inference-svc/models/upstream/events/output.js";
import { isCutObject } from "@sluice/inference-svc/models/upstream/translate/cut-json.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { chatChunk } from "../../../support/providers/upstream.js";
import { itemsOf } from "../../asking.js";
import { outcomeOf, runAgainstServer, sseReply } from "../servers/odd-server.js";

const whole = '{"a":"x\\\\\\"\\u00e9","b":[1,-2.5e+3,{"c":null}],"d":{},"e":[true,false,"😀"], "f" : ""}';

describe("an object", () => {
  test("is cut at each place before its end, and nowhere else", () => {
    expect(JSON.parse(whole)).toBeDefined();
    for (let at = 1; at < whole.length; at++)
      expect([whole.slice(0, at), isCutObject(whole.slice(0, at))]).toEqual([whole.slice(0, at), true]);
    for (const text of ["", " ", whole, `${whole}}`, '[{"a":1}', '"a', "nul"])
      expect([text, isCutObject(text)]).toEqual([text, false]);
  });

  test.each([
    '{"a":"it"s"}',
    '{"a":"say "hi"',
    "{'a':1",
    '{"a":1,,',
    '{"a" 1',
    '{a:"x',
    '{"a":"line\nend',
    '{"a":1]',
    "{ not JSON",
  ])("that is wrong is not cut: %s", (text) => {
    expect(isCutObject(text)).toBe(false);
  });

  test("of many levels is judged without their recursion", () => {
    expect(isCutObject('{"a":'.repeat(500))).toBe(true);
    expect(typeof isCutObject('{"a":['.repeat(200_000))).toBe("boolean");
  });
});

const piece = (fields: object) => chatChunk({ tool_calls: [{ index: 0, id: "c", ...fields }] });
const answerOf = async (call: object) => {
  const ending = await runAgainstServer(sseReply(piece(call), chatChunk({}, "tool_calls"), "[DONE]"));
  return [outcomeOf(ending), itemsOf(ending.events)] as const;
};

test("a call with wrong arguments has the end that its provider reports", async () => {
  const [outcome, items] = await answerOf({ function: { name: "f", arguments: '{"a":"it"s"}' } });
  expect(outcome.status).toBe("completed");
  expect(items).toMatchObject([{ arguments: '{"a":"it"s"}', status: "completed" }]);
});

test("the free text of a custom tool is not judged", async () => {
  const [outcome, items] = await answerOf({ type: "custom", custom: { name: "sh", input: '{ echo "' } });
  expect(outcome.status).toBe("completed");
  expect(items).toMatchObject([{ type: "custom_tool_call", input: '{ echo "', status: "completed" }]);
});

test("at most 128 further calls are made of the objects in one call, and the rest stays with the last", () => {
  const events: TurnEvent[] = [];
  const objects = Array.from({ length: 1_000 }, (_, n) => `{"a":${n}}`);
  const call = new Output((event) => events.push(event)).call("f", "c");
  for (const object of objects) call.arguments(object);
  call.end("completed");
  const items = itemsOf(events);
  expect(items).toHaveLength(129);
  expect(items.map((item) => item.arguments).join("")).toBe(objects.join(""));
  expect(items.at(-1)).toMatchObject({ status: "completed", arguments: objects.slice(128).join("") });
});
