/** Every kind of input item: accepted, refused with the name of each wrong field, and the rules between items. */
import { describe, expect, test } from "@jest/globals";
import { inputItem } from "@sluice/proto/contract/items/input.js";
import { outputItems } from "@sluice/proto/contract/items/output.js";
import type { ObjectShape } from "@sluice/proto/lib/validation/shape.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { parseTurnRequest, listProblems } from "../support/answers/parse-turn-request.js";
import { answerItems, outputTypeByCall, clientItems } from "./input-kinds.js";

const samples = { ...answerItems, ...clientItems };
const kinds = Object.entries(samples);

/** The item, after the call that it answers, if any. */
const inPlace = (item: { readonly type: string }): readonly object[] => {
  const before = outputTypeByCall[item.type];
  return before === undefined ? [item] : [answerItems[before] as object, item];
};

test("the tables of input items hold every kind of the contract", () => {
  expect([...Object.keys(samples), "item_reference"].toSorted()).toEqual([...inputItem.kinds.keys()].toSorted());
  const sent = Object.keys(outputItems).filter((type) => !["shell_call_output", "tool_search_output"].includes(type));
  expect(Object.keys(answerItems).toSorted()).toEqual(sent.toSorted());
});

describe("an input item is accepted unchanged:", () => {
  test.each(kinds)("%s in full", (_, item) => {
    expect(parseTurnRequest({ input: inPlace(item) }).input.at(-1)).toEqual(item);
  });

  test.each(Object.entries(answerItems))(
    "%s without id and status, and with null for optional fields",
    (type, item) => {
      const needed = (inputItem.kinds.get(type) as ObjectShape).rules?.required ?? ["type", "role", "content"];
      const bare = Object.fromEntries(
        Object.entries(item).map(([name, value]) => [name, needed.includes(name) ? value : null]),
      );
      expect(listProblems({ input: [bare] })).toEqual([]);
      const { id: _id, status: _status, ...rest } = item;
      expect(listProblems({ input: [rest] })).toEqual([]);
    },
  );
});

test("a local shell call is answered by a function output, as Codex does, and may lack the environment", () => {
  const action = { type: "exec", command: ["ls"], timeout_ms: null, working_directory: null, env: null, user: null };
  const call = { type: "local_shell_call", call_id: "c", status: "completed", action };
  const output = { type: "function_call_output", call_id: "c", output: "a.txt" };
  expect(listProblems({ input: [call, output] })).toEqual([]);
  const { env: _, ...bare } = action;
  expect(listProblems({ input: [{ ...call, action: bare }, output] })).toEqual([]);
  expect(listProblems({ input: [{ ...call, id: "c", call_id: "d" }, output] })).toEqual([
    "input.1.call_id: matches no earlier function_call",
  ]);
});

test("null inside a replayed item means unset, too", () => {
  const search = (action: object) => ({ type: "web_search_call", id: "w", status: "completed", action });
  const actions = [
    { type: "search", query: "q", queries: null, sources: null },
    { type: "search", query: null, queries: ["q"] },
    { type: "open_page", url: null },
  ];
  for (const action of actions) expect(listProblems({ input: [search(action)] })).toEqual([]);
  const found = search({ type: "find_in_page", url: null, pattern: "x" });
  expect(listProblems({ input: [found] })).toEqual(["input.0.action.url: must be a string"]);
});

describe("an input item is refused with the field's path:", () => {
  const wrong = (value: unknown): unknown => (typeof value === "string" || Array.isArray(value) ? 5 : "x");
  /** Fields of any JSON type, filled by a provider or a tool. */
  const open = new Set(["computer_call.action", "tool_search_call.arguments", "service:files.result"])
    .add("mcp_list_tools.error")
    .add("mcp_call.error");

  test.each(kinds)("%s with a field of a wrong type", (type, item) => {
    for (const [name, value] of Object.entries(item)) {
      if (name === "type" || open.has(`${type}.${name}`)) continue;
      const input = inPlace({ ...item, [name]: wrong(value) });
      const path = `input.${input.length - 1}.${name}`;
      expect(listProblems({ input }).find((problem) => problem.startsWith(path)) ?? `${name} is accepted`).toContain(
        path,
      );
    }
  });

  test.each(kinds)("%s with a field missing", (type, item) => {
    const required = (inputItem.kinds.get(type) as ObjectShape).rules?.required ?? [];
    for (const name of required.filter((field) => field !== "type")) {
      const { [name]: _, ...rest } = item;
      const input = inPlace(rest as typeof item);
      expect(listProblems({ input })).toContain(`input.${input.length - 1}.${name}: required`);
    }
  });
});

describe("input items that refer to each other", () => {
  test.each(Object.entries(outputTypeByCall))("need a call before its output: %s needs a %s", (type, call) => {
    const output = samples[type] as { readonly [field: string]: unknown };
    const field = ["call_id", "approval_request_id", "id"].find((name) => output[name] !== undefined) as string;
    const says = `${field}: matches no earlier ${call}`;
    expect(listProblems({ input: [output] })).toEqual([`input.0.${says}`]);
    expect(listProblems({ input: [output, answerItems[call]] })).toEqual([`input.0.${says}`]);
    expect(listProblems({ input: [answerItems[call], { ...output, [field]: "another" }] })).toEqual([
      `input.1.${says}`,
    ]);
    // The id of a call of another kind is not the id of this one.
    const other = call === "function_call" ? "custom_tool_call" : "function_call";
    expect(listProblems({ input: [answerItems[other], output] })).toEqual([`input.1.${says}`]);
  });

  test("include outputs of the provider's tool search, which have no call_id to match", () => {
    expect(listProblems({ input: [{ ...clientItems["tool_search_output"], call_id: null }] })).toEqual([]);
  });

  test("include references to earlier items, which stay unchanged", () => {
    const item = { type: "message", id: "m", role: "assistant", content: "a" };
    const reference = { type: "item_reference", id: "m" };
    expect(parseTurnRequest({ input: [item, reference, reference] }).input).toEqual([item, reference, reference]);
  });

  test.each([[{ id: "m" }], [{ type: null, id: "m" }]])("include %j as a reference", (short) => {
    const item = { type: "message", id: "m", role: "assistant", content: "a" };
    const reference = { type: "item_reference", id: "m" };
    expect(parseTurnRequest({ input: [item, short] }).input).toEqual([item, reference]);
    expect(() => parseTurnRequest({ input: [short] })).toThrow("input.0.id: names no earlier item of this input");
  });

  test.each([[{ id: "m", content: "a" }], [{ type: null, id: "m", role: "user" }], [{ id: 5 }], [{}]])(
    "do not include %j as a reference",
    (item) => {
      expect(listProblems({ input: [item] })[0]).toMatch(/^input\.0\.type: /);
    },
  );

  test.each([
    [
      "later",
      [
        { type: "item_reference", id: "m" },
        { id: "m", role: "user", content: "a" },
      ],
      0,
    ],
    [
      "nowhere",
      [
        { role: "user", content: "a" },
        { type: "item_reference", id: "m" },
      ],
      1,
    ],
  ])("include no reference to %s item", (_, input, index) => {
    const caught = (): Fault => {
      try {
        parseTurnRequest({ input });
      } catch (error) {
        return error as Fault;
      }
      throw new Error("accepted");
    };
    const { status, errorType, message, metadata } = caught();
    expect([status, errorType, metadata?.["error_type"]]).toEqual([400, "invalid_prompt", "invalid_prompt"]);
    expect(message).toBe(
      `input.${index}.id: names no earlier item of this input, and none that is remembered; send the item itself, as clients do with store: false, or set responses.remember_items`,
    );
  });

  test("may not be two configuration updates in a row", () => {
    const update = clientItems["configuration_update"];
    expect(listProblems({ input: [update, update] })).toEqual(["input.1: follows another configuration_update"]);
    expect(listProblems({ input: [update, { role: "user", content: "x" }, update] })).toEqual([]);
  });

  test("may carry tools, which count as tools, under their own path", () => {
    const choice = { type: "function", name: "more" };
    expect(listProblems({ input: [clientItems["additional_tools"]], tool_choice: choice })).toEqual([]);
    const tools = [{ type: "function", name: "more" }];
    expect(listProblems({ input: [clientItems["additional_tools"]], tools })).toEqual([
      "input.0.tools.0.name: more is the name of an earlier tool",
    ]);
    expect(listProblems({ input: [{ ...clientItems["additional_tools"], tools: [{ type: "function" }] }] })).toEqual([
      "input.0.tools.0.name: required",
    ]);
  });

  test("keep a phase in messages of the assistant, and nowhere else", () => {
    const items = ["assistant", "user"].map((role) => ({ type: "message", role, content: "a", phase: "commentary" }));
    expect(parseTurnRequest({ input: items }).input.map((item) => item["phase"])).toEqual(["commentary", undefined]);
  });

  test.each(["a string", { type: "http_error", code: 500 }, null])("may have the mcp_call.error %j", (error) => {
    expect(listProblems({ input: [{ ...answerItems["mcp_call"], error }] })).toEqual([]);
  });
});

test("a user's message may have sound and video", () => {
  const content = [
    { type: "input_audio", input_audio: { data: "AA", format: "mp3" } },
    { type: "input_video", video_url: "https://a.example/v", processing: "agentic" },
    { type: "input_text", text: "a", prompt_cache_breakpoint: { mode: "explicit" } },
  ];
  expect(parseTurnRequest({ input: [{ role: "user", content }] }).input[0]?.["content"]).toEqual(content);
  const problems = listProblems({
    input: [
      {
        role: "user",
        content: [
          { type: "input_audio", input_audio: { data: "AA", format: "ogg" } },
          { type: "input_video" },
          { type: "input_text", text: "a", prompt_cache_breakpoint: {} },
        ],
      },
    ],
  });
  expect(problems).toEqual([
    "input.0.content.0.input_audio.format: must be one of mp3, wav",
    "input.0.content.1.video_url: required",
    "input.0.content.2.prompt_cache_breakpoint.mode: required",
  ]);
});
