/** From a client's body to the request read by the dialects: the subtrees, checked by inference-svc for both endpoints. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";

const turn = (body: unknown) => {
  const text = typeof body === "string" ? body : JSON.stringify({ model: "a/b", input: "x", ...(body as object) });
  const bytes = Buffer.from(text);
  return parseTurn(parseRequest(bytes, scanObject(bytes, "body"), { serviceMetadata: false }).request);
};

const refusal = (body: unknown): string => {
  try {
    turn(body);
  } catch (error) {
    expect((error as Fault).status).toBe(400);
    return (error as Fault).message;
  }
  return "accepted";
};

const said = (content: unknown, role = "user") => ({ input: [{ type: "message", role, content }] });
const call = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
const tool = { type: "function", name: "f", parameters: { type: "object" } };

describe("the input of a request", () => {
  test("may be a string, which is a message of the user", () => {
    expect(turn({ input: "Hi 👋" }).input).toEqual([{ type: "message", role: "user", content: "Hi 👋" }]);
  });

  test("may have items, which pass unchanged with defaults filled in", () => {
    const input = [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [{ type: "input_text", text: "a" }, image, { type: "input_file", file_url: "https://x/y" }],
      },
      { type: "reasoning", id: "rs_1", encrypted_content: "e", content: [{ type: "reasoning_text", text: "t" }] },
      {
        type: "message",
        id: "m1",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [
          { type: "output_text", text: "b", annotations: [] },
          { type: "refusal", refusal: "no" },
        ],
      },
      call,
      { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "42" }] },
      { role: "assistant", content: null, __proto__x: 1 },
    ];
    const { input: read, ignoredFields } = turn({ input });
    expect(ignoredFields).toEqual(["input.6.__proto__x"]);
    // The warning about this field is left out of the comparison.
    expect(read.map((item) => Object.fromEntries(Object.entries(item)))).toEqual([
      { type: "message", role: "system", content: "Be brief." },
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "a" },
          { ...image, detail: "auto" },
          { type: "input_file", file_url: "https://x/y" },
        ],
      },
      { ...input[2], summary: [] },
      input[3],
      call,
      input[5],
      { type: "message", role: "assistant", content: [], __proto__x: 1 },
    ]);
  });

  test("keeps an item's __proto__ as data", () => {
    const [item] = turn('{"model":"a/b","input":[{"role":"user","content":"x","__proto__":{"polluted":1}}]}').input;
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect((item as { polluted?: number }).polluted).toBeUndefined();
    expect(Object.keys(item ?? {})).toContain("__proto__");
    expect(refusal('{"model":"a/b","input":[{"__proto__":{"type":"message","role":"user"}}]}')).toBe(
      "input.0.type: required",
    );
  });

  test.each<[unknown, string]>([
    [{ input: [] }, "input: at least 1 item"],
    [{ input: ["x"] }, "input.0: must be an object"],
    [{ input: [{}] }, "input.0.type: required"],
    [{ input: [{ type: 5 }] }, "input.0.type: must be a string"],
    [{ input: [{ type: "poem" }] }, "input.0.type: unknown type poem"],
    [{ input: [{ type: "constructor" }] }, "input.0.type: unknown type constructor"],
    [{ input: [{ type: "service:spoon" }] }, "input.0.type: unknown type service:spoon"],
    [
      { input: [{ type: "item_reference", id: "m" }] },
      "input.0.id: names no earlier item of this input, and none that is remembered; send the item itself, as clients do with store: false, or set responses.remember_items",
    ],
    [{ input: [{ type: "message", content: "x" }] }, "input.0.role: required"],
    [{ input: [{ role: "boss", content: "x" }] }, "input.0.role: must be one of user, system, developer, assistant"],
    [
      { input: [{ role: "user", content: "x", status: "lost" }] },
      "input.0.status: must be one of in_progress, completed, incomplete",
    ],
    [said(5), "input.0.content: must be a string or an array of parts"],
    [said(["x"]), "input.0.content.0: must be an object"],
    [said([{}]), "input.0.content.0.type: required"],
    [said([{ type: "input_text" }]), "input.0.content.0.text: required"],
    [said([{ type: "input_text", text: 5 }]), "input.0.content.0.text: must be a string"],
    [said([{ type: "hologram" }]), "input.0.content.0.type: unknown type hologram"],
    [said([{ type: "input_audio" }]), "input.0.content.0.input_audio: required"],
    [
      said([{ type: "output_text", text: "x" }]),
      "input.0.content.0.type: output_text is not possible here; use one of input_text, input_image, input_file, input_audio, input_video",
    ],
    [
      said([image], "assistant"),
      "input.0.content.0.type: input_image is not possible here; use one of output_text, refusal, input_text",
    ],
    [said([{ type: "refusal" }], "assistant"), "input.0.content.0.refusal: required"],
    [
      said([{ type: "input_text", text: "a" }, { type: "input_image" }]),
      "input.0.content.1.image_url: image_url or file_id is required",
    ],
    [
      said([
        { type: "input_text", text: "a" },
        { type: "input_image", image_url: 5 },
      ]),
      "input.0.content.1.image_url: must be a string or null",
    ],
    [said([{ ...image, detail: "fine" }]), "input.0.content.0.detail: must be one of auto, high, low, original"],
    [
      said([{ type: "input_file", filename: "a" }]),
      "input.0.content.0.file_data: file_data, file_url or file_id is required",
    ],
    [
      said([{ type: "input_text", text: "a", cache_control: { type: "eternal" } }]),
      "input.0.content.0.cache_control.type: must be ephemeral",
    ],
    [
      { input: [{ type: "reasoning", summary: [{ type: "reasoning_text", text: "x" }] }] },
      "input.0.summary.0.type: must be summary_text",
    ],
    [{ input: [{ ...call, arguments: {} }] }, "input.0.arguments: must be a string"],
    [{ input: [{ type: "function_call", name: "f", arguments: "{}" }] }, "input.0.call_id: required"],
    [{ input: [call, { type: "function_call_output", call_id: "c1" }] }, "input.1.output: required"],
    [
      { input: [call, { type: "function_call_output", call_id: "c2", output: "x" }] },
      "input.1.call_id: matches no earlier function_call",
    ],
    [
      { input: [{ type: "function_call_output", call_id: "c1", output: "x" }, call] },
      "input.0.call_id: matches no earlier function_call",
    ],
    [
      { input: [call, { type: "function_call_output", call_id: "c1", output: [{ type: "output_text", text: "x" }] }] },
      "input.1.output.0.type: output_text is not possible here; use one of input_text, input_image, input_file",
    ],
  ])("of %j is refused with its path", (body, message) => {
    expect(refusal(body)).toBe(message);
  });

  test.each([
    ["text", 10_485_760, (text: string) => said([{ type: "input_text", text }]), "input.0.content.0.text"],
    ["a string", 10_485_760, (text: string) => ({ input: text }), "input"],
    [
      "image_url",
      20_971_520,
      (text: string) => said([{ type: "input_image", image_url: text }]),
      "input.0.content.0.image_url",
    ],
    [
      "file_data",
      33_554_432,
      (text: string) => said([{ type: "input_file", file_data: text }]),
      "input.0.content.0.file_data",
    ],
  ])("with %s of %i characters is accepted, and one more is refused", (_, limit, body, path) => {
    expect(refusal(body("a".repeat(limit)))).toBe("accepted");
    expect(refusal(body("a".repeat(limit + 1)))).toBe(`${path}: at most ${limit} characters`);
  });

  test("has all problems of all its parts in one answer", () => {
    try {
      turn({
        input: [{ role: "boss" }],
        tools: [{ type: "spoon" }],
        reasoning: { effort: "huge" },
        tool_choice: "perhaps",
      });
    } catch (error) {
      const issues = (error as Fault).metadata?.["issues"] as { path: string }[];
      expect(issues.map(({ path }) => path).sort()).toEqual([
        "input.0.role",
        "reasoning.effort",
        "tool_choice",
        "tools.0.type",
      ]);
    }
    expect.assertions(1);
  });
});

describe("the tools of a request", () => {
  test("keep their schemas byte for byte", () => {
    const parameters = '{ "type":"object",\n "maximum": 12345678901234567890, "x": 1.0 }';
    const first = `{"type":"function","parameters":${parameters},"name":"f","strict":true,"description":"d"}`;
    const second = '{"type":"function","name":"g","parameters":null,"strict":null}';
    const { tools } = turn(`{"model":"a/b","input":"x","tools":[${first},${second}]}`);
    expect(tools).toEqual([
      { type: "function", name: "f", parametersJson: parameters, strict: true, description: "d", json: first },
      { type: "function", name: "g", parametersJson: "null", json: second },
    ]);
  });

  test.each([
    ["auto", "auto"],
    ["none", "none"],
    ["required", "required"],
    [
      { type: "function", name: "f" },
      { type: "tool", tool: { type: "function", name: "f" } },
    ],
  ])("keep the tool choice %j", (tool_choice, choice) => {
    expect(turn({ tools: [tool], tool_choice }).toolChoice).toEqual(choice);
  });

  test.each<[object, string]>([
    [{ tools: ["f"] }, "tools.0: must be an object"],
    [{ tools: [{}] }, "tools.0.type: required"],
    [{ tools: [{ type: "spoon" }] }, "tools.0.type: unknown type spoon"],
    [{ tools: [{ type: "service:spoon" }] }, "tools.0.type: unknown type service:spoon"],
    [
      { tools: [{ type: "service:file_search" }] },
      "tools.0.type: service:file_search is called file_search, without a prefix",
    ],
    [
      { tools: [{ type: "service:memory" }] },
      "tools.0.type: service:memory is no tool of this service, which stores nothing",
    ],
    [
      { tools: [{ type: "service:text_editor" }] },
      "tools.0.type: service:text_editor is no tool of this service; files are changed with apply_patch or service:bash",
    ],
    [
      { tools: [{ type: "service:browser_use" }] },
      "tools.0.type: service:browser_use is no tool of this service; pages are read with service:web_fetch",
    ],
    [
      { tools: [{ type: "function", function: { name: "f" } }] },
      "tools.0.function: name, description and parameters belong beside type, not inside function",
    ],
    [{ tools: [{ ...tool, name: undefined }] }, "tools.0.name: required"],
    [{ tools: [{ ...tool, name: "a b" }] }, "accepted"],
    [
      { tools: [{ ...tool, name: "n".repeat(129) }] },
      "tools.0.name: 1 to 128 characters without control characters, and no blank at either end",
    ],
    [{ tools: [{ ...tool, name: "n".repeat(128) }] }, "accepted"],
    [{ tools: [tool, tool] }, "tools.1.name: f is the name of an earlier tool"],
    [{ tools: [{ ...tool, parameters: [] }] }, "tools.0.parameters: must be an object or null"],
    [{ tools: [{ ...tool, description: 5 }] }, "tools.0.description: must be a string or null"],
    [{ tools: [{ ...tool, strict: "yes" }] }, "tools.0.strict: must be true or false or null"],
    [{ tools: [{ ...tool, async: 1 }] }, "tools.0.async: must be true or false or null"],
    [{ tools: [{ ...tool, async: false, defer_loading: false }] }, "accepted"],
    [{ tool_choice: "required" }, "tool_choice: required needs at least one tool"],
    [{ tool_choice: "perhaps" }, "tool_choice: must be one of auto, none, required, or an object that names a tool"],
    [{ tool_choice: { type: "function", name: "f" } }, "tool_choice.name: is not among the tools"],
    [{ tools: [tool], tool_choice: { type: "function" } }, "tool_choice.name: required"],
    [
      { tools: [tool], tool_choice: { type: "function", function: { name: "f" } } },
      "tool_choice.function: name belongs beside type, not inside function",
    ],
    [
      { tools: [tool], tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } },
      "tool_choice.tools: at least 1 tool",
    ],
    [{ tools: [tool], tool_choice: { type: "fork" } }, "tool_choice.type: unknown type fork"],
  ])("in %j are refused with their path", (body, message) => {
    expect(refusal(body)).toBe(message);
  });
});

describe("the settings of a request", () => {
  const format = (fields: object) => ({ text: { format: { type: "json_schema", name: "n", schema: {}, ...fields } } });

  test("keep the schema of a format byte for byte", () => {
    const schema = '{"maximum":12345678901234567890}';
    const body = `{"model":"a/b","input":"x","text":{"format":{"type":"json_schema","schema":${schema},"name":"n","strict":true}}}`;
    expect(turn(body).textFormat).toEqual({ type: "json_schema", name: "n", schemaJson: schema, strict: true });
    expect(turn({ text: { format: { type: "json_object" } } }).textFormat).toEqual({ type: "json_object" });
    expect(turn({ text: {} }).textFormat).toBeUndefined();
  });

  test.each<[object, string]>([
    [{ text: { format: {} } }, "text.format.type: required"],
    [{ text: { format: { type: "xml" } } }, "text.format.type: must be one of text, json_object, json_schema"],
    [format({ name: undefined }), "text.format.name: required"],
    [format({ name: "n".repeat(64) }), "accepted"],
    [format({ name: "n".repeat(65) }), "text.format.name: 1 to 64 letters, digits, _ and -"],
    [format({ name: "a.b" }), "text.format.name: 1 to 64 letters, digits, _ and -"],
    [format({ schema: undefined }), "text.format.schema: required"],
    [format({ schema: null }), "text.format.schema: must be an object"],
    [format({ strict: 1 }), "text.format.strict: must be true or false or null"],
    [
      { reasoning: { effort: "huge" } },
      "reasoning.effort: must be one of max, xhigh, high, medium, low, minimal, none",
    ],
    [{ reasoning: { summary: "long" } }, "reasoning.summary: must be one of auto, concise, detailed, omitted, updates"],
    [{ reasoning: { max_tokens: 0 } }, "reasoning.max_tokens: must be at least 1"],
    [{ reasoning: { enabled: 1 } }, "reasoning.enabled: must be true or false or null"],
    [{ reasoning: { mode: "pro" } }, "accepted"],
    [{ reasoning: { context: "all_turns" } }, "accepted"],
  ])("in %j are refused with their path", (body, message) => {
    expect(refusal(body)).toBe(message);
  });

  test.each<[object, object]>([
    [
      { effort: "low", summary: "auto" },
      { effort: "low", summary: "auto" },
    ],
    [{ max_tokens: 1 }, { maxTokens: 1 }],
    [
      { max_tokens: 100, effort: "low" },
      { effort: "low", maxTokens: 100 },
    ],
    [{ enabled: false, effort: "high", max_tokens: 100 }, { effort: "none" }],
    [
      { enabled: true, max_tokens: 100 },
      { enabled: true, maxTokens: 100 },
    ],
    [
      { mode: "pro", context: "all_turns" },
      { mode: "pro", context: "all_turns" },
    ],
    [{ mode: "standard", context: "auto" }, {}],
    [{ enabled: true }, { enabled: true, effort: "medium" }],
    [{}, {}],
  ])("with reasoning %j become %j", (reasoning, expected) => {
    expect(turn({ reasoning }).reasoning).toEqual(expected);
  });
});

describe("the scalar fields of a request", () => {
  test("name models tried in order, each once", () => {
    expect(turn({ model: "a/b", models: ["c/d", "a/b", "e/f"] }).models).toEqual(["a/b", "c/d", "e/f"]);
    expect(turn({ model: undefined, models: ["c/d", "e/f"] }).models).toEqual(["c/d", "e/f"]);
  });

  test("are undefined when unset", () => {
    expect(turn({})).toEqual({
      models: ["a/b"],
      input: [{ type: "message", role: "user", content: "x" }],
      stream: false,
      tools: [],
      include: [],
      outputModalities: [],
      ignoredFields: [],
      echoUpstreamBody: false,
      serviceMetadata: false,
    });
    expect(turn({ temperature: null }).temperature).toBeUndefined();
  });

  test("show the body sent upstream in streams only", () => {
    expect(turn({ debug: { echo_upstream_body: true } }).echoUpstreamBody).toBe(false);
    expect(turn({ debug: { echo_upstream_body: true }, stream: true }).echoUpstreamBody).toBe(true);
  });
});

describe("JSON bytes of a gRPC caller without a gateway", () => {
  const refused = (inputJson: string | Uint8Array, toolsJson = ""): string => {
    const json = { inputJson: Buffer.from(inputJson), toolsJson: Buffer.from(toolsJson) };
    try {
      parseTurn(create(RunTurnRequestSchema, { model: "a/b", ...json }));
    } catch (error) {
      expect((error as Fault).status).toBe(400);
      return (error as Fault).message;
    }
    return "accepted";
  };

  test.each<[string, string | Uint8Array, string]>([
    ["nothing", "", "input: required"],
    ["null", "null", "input: required"],
    ["not JSON", "{", "input: unexpected end of JSON at byte 1"],
    ["two values", '"a""b"', "input: unexpected data after the end of the JSON value at byte 3"],
    ["invalid UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "input: invalid UTF-8 at byte 1"],
    ["a bomb", "[".repeat(100_000), "input: nested deeper than 64 at byte 63"],
    ["a lone surrogate", '"\\ud800"', "input: lone surrogate at byte 1"],
    ["a duplicate key", '[{"role":"user","role":"system"}]', 'input: duplicate key "role" at byte 16'],
    ["a leading space", ' "x"', "accepted"],
  ])("in %s as input give the expected problem", (_, input, message) => {
    expect(refused(input)).toBe(message);
  });

  test("are checked in tools", () => {
    expect(refused('"x"', "{}")).toBe("tools: must be an array");
    expect(refused('"x"', ` [ ${JSON.stringify(tool)} ] `)).toBe("accepted");
    expect(refused('"x"', "[1")).toBe("tools: unexpected end of JSON at byte 2");
  });
});
