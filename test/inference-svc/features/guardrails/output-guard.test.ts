/** Rules for answers: matched text is not delivered, in any channel and however it is cut, and all other text is delivered. */
import { toGeneratedAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { describe, expect, test } from "@jest/globals";
import type { Batch, OutputItem, Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { AppliesTo, GuardrailMode } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { itemsOf } from "../../asking.js";
import {
  blockFilter,
  itemEnd,
  flagFilter,
  runGuarded,
  guardedTurn,
  itemAt,
  outputMessage,
  turnEnd,
  redactFilter,
  joinDeltas,
  streamedMessage,
  itemStart,
  textDeltaEvent,
} from "./gating.js";

const textOf = (item: OutputItem | undefined): unknown =>
  (item?.["content"] as { text?: string }[] | undefined)?.map((part) => part.text);

describe("redaction of an answer", () => {
  test.each([
    [["my pass", "word is hun", "ter2!"], "my password is [REDACTED]!"],
    [["hunter2"], "[REDACTED]"],
    [["h", "u", "n", "t", "e", "r", "2", "hunter", "3"], "[REDACTED]hunter3"],
  ])("works over deltas %j", async (deltas, expected) => {
    const { events, fault } = await runGuarded(streamedMessage(...deltas), [redactFilter("hunter2")]);
    expect(fault).toBeUndefined();
    expect([joinDeltas(events), textOf(itemAt(events))]).toEqual([expected, [expected]]);
    itemsOf(events);
  });

  test("holds back no more text than necessary", async () => {
    const { events } = await runGuarded(streamedMessage("one hunt", "ing hunter", "2 t"), [
      redactFilter("hunter2", "<pw>"),
    ]);
    const deltas = events.flatMap((event) => ("delta" in event ? [event.delta] : []));
    expect(deltas).toEqual(["one ", "hunting ", "<pw> t"]);
  });

  test("covers overlapping matches as a whole, with the placeholder of the longest", async () => {
    const { events } = await runGuarded(streamedMessage("a 1234-5678 b"), [
      redactFilter("1234", "<short>"),
      redactFilter("\\d+-5678", "<long>"),
    ]);
    expect(joinDeltas(events)).toBe("a <long> b");
  });

  test("works over two parts of a message, and at the beginning of a part", async () => {
    const parts = outputMessage("say plu", "tonium now", "key: a");
    const batches: Batch[] = [
      [itemStart(0, outputMessage())],
      [textDeltaEvent("say plu"), textDeltaEvent("tonium", 1), textDeltaEvent(" now", 1), textDeltaEvent("key: a", 2)],
      [itemEnd(0, parts), turnEnd],
    ];
    const { events } = await runGuarded(batches, [redactFilter("plutonium", "<p>"), redactFilter("^key", "<k>")]);
    expect(textOf(itemAt(events))).toEqual(["say <p>", " now", "<k>: a"]);
    itemsOf(events);
  });

  test("never sends half a character", async () => {
    const { events } = await runGuarded(streamedMessage("a\ud83d", "\ude00k", "\ud83d"), [redactFilter("x")]);
    const deltas = events.flatMap((event) => ("delta" in event ? [event.delta] : []));
    expect(deltas).toEqual(["a", "\u{1f600}k", "\ud83d"]);
  });

  test("covers an overlong match, to its final character", async () => {
    const long = "x".repeat(10_000);
    const { events } = await runGuarded(streamedMessage("a secret:", long.slice(0, 5_000), long.slice(5_000), "x\nb"), [
      redactFilter("secret:.*", "<s>"),
    ]);
    expect([joinDeltas(events), textOf(itemAt(events))]).toEqual(["a <s>\nb", ["a <s>\nb"]]);
    // The match was reported long before its end had arrived.
    expect(events.findIndex((event) => "delta" in event && event.delta.includes("<s>"))).toBeLessThan(5);
  });

  test("covers a match longer than the hold limit, before its end is known", async () => {
    const deltas = Array.from({ length: 300 }, () => "ab".repeat(50));
    const { events } = await runGuarded(streamedMessage("x", ...deltas, "x"), [
      redactFilter("a"),
      redactFilter("(?:a|b)+c"),
      redactFilter("[ab]{0,200}c"),
    ]);
    expect(joinDeltas(events)).toMatch(/^x[^ab]+x$/);
    expect(events.findIndex((event) => "delta" in event && event.delta.includes("[REDACTED]"))).toBeLessThan(60);
    itemsOf(events);
  });

  test.each<[string, TurnEvent["type"], OutputItem, TurnEvent[]]>([
    [
      "a refusal",
      "refusal.delta",
      { ...outputMessage(), content: [{ type: "refusal", refusal: "no secret" }] },
      [{ type: "refusal.delta", index: 0, part: 0, delta: "no sec" }],
    ],
    [
      "reasoning",
      "reasoning.delta",
      {
        type: "reasoning",
        id: "rs_1",
        summary: [],
        content: [{ type: "reasoning_text", text: "no secret" }],
        encrypted_content: "sealed",
      },
      [{ type: "reasoning.delta", index: 0, part: 0, delta: "no sec" }],
    ],
    [
      "its summary",
      "summary.delta",
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "no secret" }], signature: "sealed" },
      [{ type: "summary.delta", index: 0, part: 0, delta: "no sec" }],
    ],
    [
      "the input of a custom tool",
      "arguments.delta",
      { type: "custom_tool_call", id: "ct_1", call_id: "c", name: "sql", input: "no secret" },
      [{ type: "arguments.delta", index: 0, delta: "no sec" }],
    ],
    [
      "code",
      "arguments.delta",
      { type: "code_interpreter_call", id: "ci_1", status: "completed", code: "no secret" },
      [{ type: "arguments.delta", index: 0, delta: "no sec" }],
    ],
    [
      "a patch",
      "arguments.delta",
      { type: "apply_patch_call", id: "ap_1", call_id: "c", operation: { type: "update_file", diff: "no secret" } },
      [{ type: "arguments.delta", index: 0, delta: "no sec" }],
    ],
  ])("works in %s, streamed and whole", async (_, type, item, deltas) => {
    const begun = { type: item.type, id: item.id, ...(item["call_id"] !== undefined && { call_id: item["call_id"] }) };
    const streamed = await runGuarded(
      [[itemStart(0, begun)], deltas, [itemEnd(0, item), turnEnd]],
      [redactFilter("secret", "<s>")],
    );
    expect(joinDeltas(streamed.events, type)).toBe("no <s>");
    const whole = await runGuarded([[itemEnd(0, item), turnEnd]], [redactFilter("secret", "<s>")]);
    expect(itemAt(whole.events)).toEqual(itemAt(streamed.events));
    expect(JSON.stringify([streamed.events, whole.events])).toMatch(/no <s>/);
    expect(JSON.stringify([streamed.events, whole.events])).not.toMatch(/secret|sealed/);
  });

  test.each<[string, object, object]>([
    ["a text that begins as a data URL", { output: "data: a secret" }, { output: "data: a <s>" }],
    ["a field that means something elsewhere", { data: "secret" }, { data: "<s>" }],
    ["a type that nobody knows", { action: { type: "secret" } }, { action: { type: "<s>" } }],
    ["the name of a field", { arguments: { secret: [1] } }, { arguments: { "<s>": [1] } }],
    ["the name of a variable", { action: { env: { secret: "" } } }, { action: { env: { "<s>": "" } } }],
    ["a number", { arguments: { query: 4111111111111111 } }, { arguments: { query: "<c>" } }],
    ["bytes of a picture", { url: "data:image/png;base64,secret" }, { url: "data:image/png;base64,secret" }],
    ["names and words of the contract", { status: "completed" }, { status: "completed" }],
  ])("works in a tool call of any kind: %s", async (_, fields, expected) => {
    const item = { type: "tool_search_call", id: "ts_1", ...fields };
    const rules = [redactFilter("secret|completed|type|status", "<s>"), redactFilter("41{15}", "<c>")];
    const { events } = await runGuarded([[itemStart(0, item), itemEnd(0, item), turnEnd]], rules);
    expect(itemAt(events)).toEqual({ type: "tool_search_call", id: "ts_1", ...expected });
    const { rejected } = await runGuarded([[itemEnd(0, item), turnEnd]], [blockFilter("secret|41{15}")]);
    expect(rejected).toBe(JSON.stringify(expected) !== JSON.stringify(fields));
  });

  test("drops the seal of redacted reasoning with a note, and keeps other seals", async () => {
    const reasoning = (said: string) => ({
      type: "reasoning",
      id: "rs",
      summary: [{ type: "summary_text", text: said }],
      encrypted_content: "sealed",
      signature: null,
    });
    const { events, stages } = await runGuarded(
      [[itemEnd(0, reasoning("a secret")), itemEnd(1, reasoning("nothing")), turnEnd]],
      [redactFilter("secret")],
    );
    expect([itemAt(events, 0)?.["encrypted_content"], itemAt(events, 1)?.["encrypted_content"]]).toEqual([
      undefined,
      "sealed",
    ]);
    expect(stages).toMatchObject([{ data: { action: "redacted", dropped: ["output.0.encrypted_content"] } }]);
  });
});

describe("arguments of a tool call in an answer", () => {
  const call = (json: string): OutputItem => ({
    type: "function_call",
    id: "fc_1",
    call_id: "c",
    name: "f",
    status: "completed",
    arguments: json,
  });
  const called = (json: string): Batch[] => [
    [itemStart(0, call(""))],
    [{ type: "arguments.delta", index: 0, delta: json.slice(0, 9) }],
    [{ type: "arguments.delta", index: 0, delta: json.slice(9) }],
    [itemEnd(0, call(json)), turnEnd],
  ];

  test.each([
    ['{"a": "my secret", "n": 12345678901234567890}', '{"a": "my [REDACTED]", "n": 12345678901234567890}'],
    [String.raw`{"a":"s\u0065cret\n"}`, String.raw`{"a":"[REDACTED]\n"}`],
    ['{"secret":{"b":[1,"secret"]}}', '{"[REDACTED]":{"b":[1,"[REDACTED]"]}}'],
    ['{"card": 4111111111111111}', '{"card": "[REDACTED]"}'],
    ['{"password": "abc", "b": 1}', '{"[REDACTED]": "[REDACTED]", "b": 1}'],
    ["not JSON, secret", "not JSON, [REDACTED]"],
    ['{"a":"nothing"}', '{"a":"nothing"}'],
  ])("stay JSON after a redaction: %s", async (json, expected) => {
    const { events } = await runGuarded(called(json), [
      redactFilter("secret"),
      redactFilter("41{15}"),
      redactFilter('"password": "[^"]+"'),
    ]);
    expect([joinDeltas(events, "arguments.delta"), itemAt(events)?.["arguments"]]).toEqual([expected, expected]);
    itemsOf(events);
  });

  test("are not begun when they are blocked, and later items wait", async () => {
    const batches = [
      [itemStart(0, { ...outputMessage(), status: "in_progress" })],
      [textDeltaEvent("Let me see.")],
      [itemEnd(0, outputMessage("Let me see."))],
      [itemStart(1, call("")), itemStart(2, { ...outputMessage(), id: "msg_2" }), textDeltaEvent("Done", 0, 2)],
      [{ type: "arguments.delta", index: 1, delta: '{"a":"secret"}' } as const, itemEnd(1, call('{"a":"secret"}'))],
      [itemEnd(2, outputMessage("Done")), turnEnd],
    ];
    const { events, stopped } = await runGuarded(batches, [blockFilter("secret")]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "incomplete", reason: "content_filter" } });
    expect(events.some((event) => "index" in event && (event.index ?? 0) > 0)).toBe(false);
    expect(stopped).toBe(true);
    itemsOf(events);
    const passed = await runGuarded(batches, [redactFilter("secret")]);
    expect(itemsOf(passed.events)).toHaveLength(3);
  });
});

describe("a failure of the provider under an output guardrail", () => {
  const told = (message: string, code = "bad_input") =>
    new Fault(FaultReason.INVALID_REQUEST, message, { metadata: { provider_code: code, param: "input" } });
  const read = (said: string) =>
    new Fault(FaultReason.INVALID_REQUEST, "no", {
      metadata: { file_annotations: [{ type: "file", file: { name: "a", content: [{ type: "text", text: said }] } }] },
    });
  const usual = new Fault(FaultReason.INVALID_REQUEST).message;

  test.each([
    ["redacted", redactFilter("secret", "<s>"), told("no secret here"), told("no <s> here")],
    ["in our own words", blockFilter("secret"), told("no secret here"), told(usual)],
    [
      "without the code",
      redactFilter("secret"),
      told("no", "secret"),
      new Fault(FaultReason.INVALID_REQUEST, "no", { metadata: { param: "input" } }),
    ],
    ["as it is", redactFilter("secret"), told("no"), told("no")],
    ["with what is left of the files that were read", redactFilter("secret", "<s>"), read("a secret"), read("a <s>")],
    [
      "without the files",
      blockFilter("secret"),
      read("a secret"),
      new Fault(FaultReason.INVALID_REQUEST, "no", { metadata: {} }),
    ],
    ["with the files", blockFilter("secret"), read("a"), read("a")],
    ["as it is, where rules only report", flagFilter("secret"), told("no secret"), told("no secret")],
  ])("is reported %s, before any output and afterwards", async (_, rule, thrown, expected) => {
    const failing = (said: readonly Batch[]) => guardedTurn(throwing(thrown, said), [rule]);
    for (const { fault } of [
      await failing([]),
      await failing([[itemStart(0, outputMessage()), textDeltaEvent("Well. ")]]),
    ]) {
      expect([fault?.message, fault?.metadata]).toEqual([expected.message, expected.metadata]);
    }
    const { fault } = await guardedTurn(() => {
      throw thrown;
    }, [rule]);
    expect([fault?.message, fault?.metadata, fault?.status]).toEqual([expected.message, expected.metadata, 400]);
  });

  const throwing =
    (fault: Fault, said: readonly Batch[]): Turn =>
    () =>
      toGeneratedAnswer(
        (async function* () {
          yield* said;
          throw fault;
        })(),
      );
});

describe("a block in an answer", () => {
  test("before any output is a refusal", async () => {
    const { events, fault, rejected, stages, stopped } = await runGuarded(streamedMessage("sec", "ret", " more"), [
      blockFilter("secret", "Secrets"),
    ]);
    expect([events, rejected, stopped]).toEqual([[], true, true]);
    expect([fault?.reason, fault?.status, fault?.message, fault?.metadata]).toEqual([
      FaultReason.GUARDRAIL_BLOCKED,
      403,
      "Response blocked by content filter: Secrets",
      { patterns: ["Secrets"] },
    ]);
    expect(stages).toEqual([
      {
        type: "guardrail",
        name: "content-filter",
        guardrail_id: "550e8400-e29b-41d4-a716-446655440000",
        guardrail_scope: "api-key",
        summary: "Blocked: 1 pattern",
        data: { action: "blocked", applies_to: "output", detected: true, engines: ["regex"], patterns: ["Secrets"] },
      },
    ]);
  });

  test("after output ends the permitted part as incomplete", async () => {
    const { events, stages, stopped, fault } = await runGuarded(streamedMessage("Hello ", "you, the sec", "ret is"), [
      blockFilter("secret"),
      redactFilter("you", "<y>"),
    ]);
    expect([joinDeltas(events), stopped, fault]).toEqual(["Hello <y>, the ", true, undefined]);
    expect(events.slice(-2)).toEqual([
      {
        type: "item.end",
        index: 0,
        item: {
          ...outputMessage("Hello <y>, the "),
          status: "incomplete",
        },
      },
      {
        type: "end",
        outcome: { status: "incomplete", reason: "content_filter", serviceTier: "default" },
      },
    ]);
    expect(stages.map((stage) => (stage as { data: { action: string } }).data.action)).toEqual(["blocked", "redacted"]);
    itemsOf(events);
  });

  test("follows from an overlong match", async () => {
    const { fault } = await runGuarded(streamedMessage("secret:", "x".repeat(5_000)), [blockFilter("secret:.*\n")]);
    expect(fault?.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
  });

  test.each<[string, TurnEvent[]]>([
    ["a title", [{ type: "annotation", index: 0, part: 0, annotation: { type: "url_citation", title: "secret" } }]],
    ["an event", [{ type: "native", name: "response.x.y", payloadJson: '{"a":["secret"]}' }]],
    [
      "events of an item",
      ["sec", "ret"].map((delta) => ({
        type: "native",
        index: 1,
        name: "response.x.delta",
        payloadJson: JSON.stringify({ delta }),
      })),
    ],
    ["an item of a later kind", [itemEnd(1, { type: "later", id: "l", deep: { a: ["secret"] } })]],
    ["the name of a call", [itemStart(1, { type: "function_call", id: "f", call_id: "c", name: "secret" })]],
    ["a query", [itemEnd(1, { type: "web_search_call", id: "w", action: { query: "secret" } })]],
  ])("covers the text in %s as well", async (_, events) => {
    const batches = [
      [
        itemStart(0, outputMessage()),
        textDeltaEvent("a"),
        itemStart(1, { type: "later", id: "l" }),
        ...events,
        itemEnd(1, { type: "later", id: "l" }),
        turnEnd,
      ],
    ];
    const { fault } = await runGuarded(batches, [blockFilter("secret")]);
    expect(fault?.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
  });
});

describe("annotations and log probabilities of a text under an output guardrail", () => {
  const citation = (from: number, to: number) => ({
    type: "url_citation",
    url: "https://a.example/",
    title: "A",
    start_index: from,
    end_index: to,
  });

  test("wait for their text if they come early", async () => {
    const [out, moved, next] = [citation(2, 8), citation(9, 12), citation(0, 4)];
    const part = (said: string, ...annotations: object[]) => ({
      type: "output_text",
      text: said,
      annotations,
      logprobs: [],
    });
    const item = { ...outputMessage(), content: [part("a secret and", out, moved), part("more", next)] };
    const note = (annotation: object, at = 0): TurnEvent => ({ type: "annotation", index: 0, part: at, annotation });
    const batches: Batch[] = [
      [
        itemStart(0, outputMessage()),
        textDeltaEvent("a "),
        note(out),
        note(moved),
        textDeltaEvent("secret a"),
        textDeltaEvent("nd"),
      ],
      [note(next, 1), textDeltaEvent("more", 1), itemEnd(0, item), turnEnd],
    ];
    const { events } = await runGuarded(batches, [redactFilter("secret", "<s>")]);
    const told = events.flatMap((event) =>
      event.type === "annotation" || event.type === "text.delta" ? [[event.part, event.type]] : [],
    );
    expect(told.filter(([, type], at) => type === "annotation" || told[at + 1]?.[1] !== type)).toEqual([
      [0, "text.delta"],
      [0, "annotation"],
      [1, "text.delta"],
      [1, "annotation"],
    ]);
    expect(itemAt(events)?.["content"]).toEqual([part("a <s> and", citation(6, 9)), part("more", next)]);
  });

  test("keep their place, or are left out", async () => {
    const whole = "\u{1f600} secret see here, secret";
    const annotations = [citation(0, 1), citation(2, 8), citation(9, 12), citation(13, 17)];
    const item = {
      ...outputMessage(),
      content: [{ type: "output_text", text: whole, annotations, logprobs: [] }],
    };
    const batches: Batch[] = [
      [itemStart(0, outputMessage()), textDeltaEvent(whole.slice(0, 20))],
      annotations.map((annotation) => ({ type: "annotation", index: 0, part: 0, annotation })),
      [textDeltaEvent(whole.slice(20)), itemEnd(0, item), turnEnd],
    ];
    const { events } = await runGuarded(batches, [redactFilter("secret", "<s>")]);
    const content = itemAt(events)?.["content"] as { text: string; annotations: ReturnType<typeof citation>[] }[];
    const { text: shown = "", annotations: kept = [] } = content[0] ?? {};
    const characters = Array.from(shown);
    const pointed = kept.map(({ start_index, end_index }) => characters.slice(start_index, end_index).join(""));
    expect(pointed).toEqual(["\u{1f600}", "see", "here"]);
    expect(events.flatMap((event) => (event.type === "annotation" ? [event.annotation] : []))).toEqual(kept);
  });

  test("are left out if they spell the text", async () => {
    const logprobs = [{ token: "secret", logprob: -1, top_logprobs: [] }];
    const item = { ...outputMessage(), content: [{ type: "output_text", text: "secret", annotations: [], logprobs }] };
    const delta = { ...textDeltaEvent("secret"), logprobsJson: JSON.stringify(logprobs) } as TurnEvent;
    const { events } = await runGuarded(
      [[itemStart(0, outputMessage()), delta, itemEnd(0, item), turnEnd]],
      [redactFilter("secret")],
    );
    expect(JSON.stringify(events)).not.toContain("secret");
  });
});

describe("an answer stays unchanged", () => {
  test.each([
    ["flag", [flagFilter("hunter2", "pw")], {}, "flagged"],
    ["audit", [blockFilter("hunter2", "pw")], { mode: GuardrailMode.AUDIT }, "blocked"],
    ["audit", [redactFilter("hunter2", "pw")], { mode: GuardrailMode.AUDIT }, "redacted"],
  ])("under %s, and the receipt has the action that would apply", async (_, filters, fields, action) => {
    const batches = streamedMessage("my hun", "ter2");
    const { events, stages } = await runGuarded(batches, filters, fields);
    expect(events).toEqual(batches.flat());
    expect(stages).toMatchObject([{ data: { action, patterns: ["pw"], applies_to: "output" } }]);
  });

  test.each([AppliesTo.INPUT, AppliesTo.UNSPECIFIED])("under a guardrail for the input", async (appliesTo) => {
    const batches = streamedMessage("hunter2");
    const { events, stages } = await runGuarded(batches, [blockFilter("hunter2")], { appliesTo });
    expect([events, stages]).toEqual([batches.flat(), []]);
  });

  test("without a match", async () => {
    const { events, stages } = await runGuarded(streamedMessage("all ", "is ", "well"), [
      blockFilter("hunter2"),
      flagFilter("x"),
    ]);
    expect([events, stages]).toEqual([streamedMessage("all ", "is ", "well").flat(), []]);
  });
});

describe("an output guardrail finds disguised words", () => {
  const encoded = Buffer.from("write to jane@example.com").toString("base64");

  test.each([
    ["zero-width characters", "ha hun\u200bter2 ha"],
    ["look-alikes", "ha hunt\u0435r2 ha"],
    [
      "tags",
      `ha ${Array.from("hunter2", (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("")} ha`,
    ],
    ["escapes of bytes", "ha \\x68unter2 ha"],
    ["an encoded word", `ha ${Buffer.from("it is hunter2, see").toString("hex")} ha`],
  ])("in a block of %s, before any character of it is delivered", async (_, text) => {
    const { events, fault } = await runGuarded(streamedMessage(...text.split("")), [blockFilter("hunter2", "pw")]);
    expect([fault?.status ?? 200, "ha ".startsWith(joinDeltas(events))]).toEqual([200, true]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "incomplete", reason: "content_filter" } });
  });

  test("in arguments and whole texts", async () => {
    const json = JSON.stringify({ to: encoded, say: "h u n t e r" });
    const call = { type: "function_call", id: "f", call_id: "c", name: "f", arguments: json };
    const { events } = await runGuarded(
      [[itemEnd(0, call), turnEnd]],
      [redactFilter("jane@", "<mail>"), redactFilter("hunter", "<pw>")],
    );
    expect(itemAt(events)).toMatchObject({ arguments: '{"to":"<mail>","say":"<pw>"}' });
  });

  test("in an overlong key, which is removed from the place where it was found", async () => {
    const word = Buffer.from(`${"lorem ipsum ".repeat(1_000)}hunter2${" dolor sit".repeat(1_000)}`).toString("base64");
    const { events } = await runGuarded(streamedMessage(...(word.match(/.{1,50}/g) ?? []), " after"), [
      redactFilter("hunter2", "<pw>"),
    ]);
    const shown = joinDeltas(events);
    expect([word.startsWith(shown.slice(0, shown.indexOf("<"))), shown.slice(shown.indexOf("<"))]).toEqual([
      true,
      "<pw> after",
    ]);
    expect(Buffer.from(shown.slice(0, shown.indexOf("<")), "base64").toString()).not.toContain("hunt");
  });
});
