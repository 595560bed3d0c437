/** Every kind of tool and of tool choice: accepted, refused with its path when it is wrong, every limit at n and n + 1. */
import { describe, expect, test } from "@jest/globals";
import { tool } from "@sluice/proto/contract/tools/tools.js";
import type { ObjectShape } from "@sluice/proto/lib/validation/shape.js";
import { parseTurnRequest, listProblems } from "../support/answers/parse-turn-request.js";

type Tool = { readonly type: string; readonly [field: string]: unknown };

const f = { type: "function", name: "f" };
const search = { type: "service:tool_search" };
const names = (count: number, prefix = "m") => Array.from({ length: count }, (_, n) => `${prefix}${n}`);

/** Tools with no more than the required fields. */
const minimal: Readonly<Record<string, Tool>> = {
  function: f,
  custom: { type: "custom", name: "c" },
  namespace: { type: "namespace", name: "n", description: "d", tools: [f] },
  web_search: { type: "web_search" },
  web_search_2025_08_26: { type: "web_search_2025_08_26" },
  web_search_preview: { type: "web_search_preview" },
  web_search_preview_2025_03_11: { type: "web_search_preview_2025_03_11" },
  file_search: { type: "file_search", vector_store_ids: ["v"] },
  computer_use_preview: { type: "computer_use_preview", display_width: 1, display_height: 1, environment: "mac" },
  computer: { type: "computer" },
  code_interpreter: { type: "code_interpreter", container: "ct" },
  mcp: { type: "mcp", server_label: "s", server_url: "https://a.example" },
  image_generation: { type: "image_generation" },
  local_shell: { type: "local_shell" },
  shell: { type: "shell" },
  bash: { type: "bash" },
  apply_patch: { type: "apply_patch" },
  tool_search: { type: "tool_search" },
  ...Object.fromEntries(
    ["web_search", "web_fetch", "datetime", "image_generation", "advisor", "subagent", "files", "fusion"]
      .concat(["search_models", "tool_search", "apply_patch", "shell", "bash", "code_interpreter"])
      .map((name) => [`service:${name}`, { type: `service:${name}` }]),
  ),
};
const kinds = Object.entries(minimal);

test("the table of tools holds every kind of the contract", () => {
  expect(Object.keys(minimal).toSorted()).toEqual([...tool.kinds.keys()].toSorted());
});

describe("a tool", () => {
  test.each(kinds)("%s is accepted and kept as it was written", (type, entry) => {
    const json = JSON.stringify(entry).replace("{", "{ ");
    const [kept] = parseTurnRequest(`{"model":"a/b","input":"x","tools":[${json}]}`).tools;
    const own = ["function", "custom", "namespace"].includes(type);
    expect(kept).toMatchObject(own ? { type, json } : { type: "hosted", kind: type, spelling: type, json });
  });

  test.each(kinds)("%s is refused with a required field missing or of a wrong type", (type, entry) => {
    const required = (tool.kinds.get(type) as Partial<ObjectShape>).rules?.required ?? [];
    expect(required.toSorted()).toEqual(
      Object.keys(entry)
        .filter((name) => name !== "server_url")
        .toSorted(),
    );
    for (const name of required) {
      const { [name]: value, ...rest } = entry;
      expect(listProblems({ tools: [rest] })).toContain(`tools.0.${name}: required`);
      const wrong = typeof value === "number" ? "x" : 5;
      const problems = listProblems({ tools: [{ ...entry, [name]: wrong }] });
      expect(problems[0]).toMatch(new RegExp(`^tools\\.0\\.${name}: must be `));
    }
  });

  test("keeps its JSON parts byte for byte", () => {
    const format = '{ "type":"grammar","syntax":"lark", "definition":"start: \\u0041" }';
    const parameters = '{"maximum":12345678901234567890}';
    const custom = `{"type":"custom","name":"c","format":${format},"async":true}`;
    const inner = `{"type":"function","name":"g","parameters":${parameters},"strict":false,"allowed_callers":["direct"]}`;
    const namespace = `{"type":"namespace","tools":[ ${inner} , ${custom}],"name":"n","description":""}`;
    const deferred = `{"type":"function","name":"f","parameters":${parameters},"async":true,"defer_loading":true}`;
    const body = `{"model":"a/b","input":"x","tools":[${custom},${namespace},${deferred},{"type":"tool_search"}]}`;
    const keptCustom = { type: "custom", name: "c", formatJson: format, async: true, json: custom };
    expect(parseTurnRequest(body).tools).toEqual([
      keptCustom,
      {
        type: "namespace",
        name: "n",
        description: "",
        json: namespace,
        tools: [{ type: "function", name: "g", parametersJson: parameters, strict: false, json: inner }, keptCustom],
      },
      { type: "function", name: "f", parametersJson: parameters, async: true, deferLoading: true, json: deferred },
      { type: "hosted", kind: "tool_search", spelling: "tool_search", json: '{"type":"tool_search"}' },
    ]);
  });

  test.each<[string, object, object, string]>([
    ["web_search", { max_results: 25 }, { max_results: 26 }, "max_results: must be between 1 and 25"],
    ["web_search", { max_results: 1 }, { max_results: 0 }, "max_results: must be between 1 and 25"],
    ["web_search", { engine: "exa" }, { engine: "x" }, /^engine: must be one of /.source],
    [
      "web_search",
      { user_location: {} },
      { user_location: { type: "exact" } },
      "user_location.type: must be approximate",
    ],
    [
      "web_search_preview",
      { user_location: { type: "approximate" } },
      { user_location: {} },
      "user_location.type: required",
    ],
    [
      "web_search",
      { x_search: { allowed_x_handles: names(20) } },
      { x_search: { allowed_x_handles: names(21) } },
      "x_search.allowed_x_handles: at most 20 handles",
    ],
    [
      "web_search",
      { x_search: { allowed_x_handles: ["a"], excluded_x_handles: null } },
      { x_search: { allowed_x_handles: ["a"], excluded_x_handles: ["b"] } },
      "x_search.excluded_x_handles: not together with allowed_x_handles",
    ],
    [
      "web_search",
      { x_search: { from_date: "2026-01-31" } },
      { x_search: { from_date: "31.1.2026" } },
      "x_search.from_date: must be a date such as 2026-01-31",
    ],
    [
      "image_generation",
      { output_compression: 100 },
      { output_compression: 101 },
      "output_compression: must be between 0 and 100",
    ],
    ["image_generation", { partial_images: 3 }, { partial_images: 4 }, "partial_images: must be between 0 and 3"],
    ["file_search", { max_num_results: 50 }, { max_num_results: 51 }, "max_num_results: must be between 1 and 50"],
    ["file_search", {}, { vector_store_ids: [] }, "vector_store_ids: at least 1 id"],
    [
      "file_search",
      { filters: { type: "and", filters: [{ type: "eq", key: "k", value: 1 }] } },
      { filters: { type: "and", filters: [{ type: "eq", key: "k" }] } },
      "filters.filters.0.value: required",
    ],
    [
      "code_interpreter",
      { container: { type: "auto", memory_limit: "64g" } },
      { container: { type: "auto", memory_limit: "2g" } },
      "container.memory_limit: must be one of 1g, 4g, 16g, 64g",
    ],
    ["mcp", { server_url: null, connector_id: "c" }, { server_url: 5 }, "server_url: must be a string or null"],
    [
      "mcp",
      { require_approval: { never: { tool_names: ["t"] } } },
      { require_approval: "sometimes" },
      "require_approval: must be one of always, never",
    ],
    ["mcp", { allowed_tools: { read_only: true } }, { allowed_tools: [5] }, "allowed_tools.0: must be a string"],
    [
      "custom",
      { format: { type: "text" } },
      { format: { type: "grammar", syntax: "bnf", definition: "x" } },
      "format.syntax: must be one of lark, regex",
    ],
    [
      "function",
      { name: "n".repeat(128) },
      { name: "n".repeat(129) },
      "name: 1 to 128 characters without control characters, and no blank at either end",
    ],
    [
      "function",
      { name: "github.search/Find it" },
      { name: "f\n" },
      "name: 1 to 128 characters without control characters, and no blank at either end",
    ],
    [
      "custom",
      { name: "a.b" },
      { name: " a" },
      "name: 1 to 128 characters without control characters, and no blank at either end",
    ],
    [
      "namespace",
      { name: "a.b" },
      { name: "" },
      "name: 1 to 128 characters without control characters, and no blank at either end",
    ],
    ["namespace", {}, { tools: [] }, "tools: at least 1 tool"],
    [
      "namespace",
      {},
      { tools: [{ type: "function", function: { name: "g" } }] },
      "tools.0.function: name, description and parameters belong beside type, not inside function",
    ],
  ])("%s is accepted with %j, but not with %j", (type, within, beyond, message) => {
    expect(listProblems({ tools: [{ ...minimal[type], ...within }] })).toEqual([]);
    const [problem] = listProblems({ tools: [{ ...minimal[type], ...beyond }] });
    if (message.startsWith("^")) expect(problem?.replace("tools.0.", "")).toMatch(new RegExp(message));
    else expect(problem).toBe(`tools.0.${message}`);
  });

  const inner = (count: number) => names(count).map((type) => ({ type }));
  const container = (id: string) => ({ environment: { type: "container_reference", container_id: id } });
  const network = (count: number) => ({
    environment: { type: "container_auto", network_policy: { type: "allowlist", allowed_domains: names(count) } },
  });
  test.each<[string, object, object, string]>([
    ["web_search", { max_results: 25 }, { max_results: 26 }, "max_results: must be between 1 and 25"],
    [
      "web_search",
      { max_characters: 100_000 },
      { max_characters: 100_001 },
      "max_characters: must be between 1 and 100000",
    ],
    ["web_search", { max_uses: 1 }, { max_uses: 0 }, "max_uses: must be at least 1"],
    [
      "web_fetch",
      { engine: "exa" },
      { engine: "perplexity" },
      "engine: must be one of auto, native, service, exa, firecrawl, parallel",
    ],
    [
      "datetime",
      { timezone: "Europe/Vienna" },
      { timezone: "Europe/Atlantis" },
      "timezone: must be an IANA time zone such as Europe/Vienna",
    ],
    [
      "datetime",
      { timezone: "UTC" },
      { timezone: "+01:00" },
      "timezone: must be an IANA time zone such as Europe/Vienna",
    ],
    [
      "image_generation",
      { output_compression: 100 },
      { output_compression: -1 },
      "output_compression: must be between 0 and 100",
    ],
    ["advisor", { name: "n".repeat(64) }, { name: "n".repeat(65) }, "name: 1 to 64 letters, digits, spaces, _ and -"],
    ["advisor", { temperature: 2 }, { temperature: 2.1 }, "temperature: must be between 0 and 2"],
    [
      "advisor",
      { reasoning: { effort: "low" } },
      { reasoning: { max_tokens: 0 } },
      "reasoning.max_tokens: must be at least 1",
    ],
    ["subagent", { max_tool_calls: 25 }, { max_tool_calls: 26 }, "max_tool_calls: must be between 1 and 25"],
    [
      "subagent",
      { tools: [{ type: "service:datetime" }] },
      { tools: [f] },
      /^tools\.0\.type: function is not possible here; /.source,
    ],
    [
      "subagent",
      {},
      { tools: [{ type: "service:subagent" }] },
      /^tools\.0\.type: service:subagent is not possible here; /.source,
    ],
    ["fusion", { analysis_models: names(8) }, { analysis_models: names(9) }, "analysis_models: at most 8 models"],
    ["fusion", { analysis_models: ["a"] }, { analysis_models: [] }, "analysis_models: at least 1 model"],
    ["fusion", { max_tool_calls: 16 }, { max_tool_calls: 17 }, "max_tool_calls: must be between 1 and 16"],
    ["fusion", { tools: inner(8) }, { tools: inner(9) }, "tools: at most 8 tools"],
    ["search_models", { max_results: 20 }, { max_results: 21 }, "max_results: must be between 1 and 20"],
    ["tool_search", { max_results: 50 }, { max_results: 51 }, "max_results: must be between 1 and 50"],
    [
      "shell",
      container("c".repeat(20)),
      container("c".repeat(21)),
      "environment.container_id: 1 to 20 letters, digits, _ and -",
    ],
    ["shell", network(50), network(51), "environment.network_policy.allowed_domains: at most 50 domains"],
    [
      "shell",
      { sleep_after_seconds: 2_592_000 },
      { sleep_after_seconds: 2_592_001 },
      "sleep_after_seconds: must be between 1 and 2592000",
    ],
    ["apply_patch", { engine: "native" }, { engine: "exa" }, "engine: must be one of auto, native, service"],
  ])("service:%s is accepted with %j, but not with %j", (name, within, beyond, message) => {
    const type = `service:${name}`;
    expect(listProblems({ tools: [{ type, parameters: within }] })).toEqual([]);
    const [problem] = listProblems({ tools: [{ type, parameters: beyond }] });
    if (message.startsWith("^")) expect(problem?.replace("tools.0.parameters.", "")).toMatch(new RegExp(message));
    else expect(problem).toBe(`tools.0.parameters.${message}`);
  });
});

describe("the tools of a request", () => {
  const advisor = (name?: string) => ({ type: "service:advisor", parameters: { ...(name && { name }) } });
  const heir = { type: "service:subagent", parameters: { inherited_function_names: ["f", "g"] } };
  const deferred = { ...f, name: "g", defer_loading: true };

  test.each<[string, readonly object[], readonly string[]]>([
    [
      "a function and a custom tool of one name",
      [f, { type: "custom", name: "f" }],
      ["tools.1.name: f is the name of an earlier tool"],
    ],
    ["a function and one of a namespace", [f, minimal["namespace"] as object], []],
    [
      "two of one name in a namespace",
      [{ ...minimal["namespace"], tools: [f, f] }],
      ["tools.0.tools.1.name: f is the name of an earlier tool"],
    ],
    ["advisors, one of them without a name", [advisor(), advisor("a"), advisor("b")], []],
    [
      "advisors, two without a name",
      [advisor(), advisor()],
      ["tools.1.parameters.name: only one of several service:advisor may lack a name"],
    ],
    [
      "advisors of one name",
      [advisor("a"), advisor("a")],
      ["tools.1.parameters.name: a is the name of an earlier tool"],
    ],
    [
      "a subagent that inherits what is not there",
      [f, heir],
      ["tools.1.parameters.inherited_function_names.1: is not among the functions"],
    ],
    ["a subagent that inherits what comes after it", [heir, f, { ...f, name: "g" }], []],
    ["a deferred tool beside the search and another", [f, deferred, search], []],
    [
      "a deferred tool without a search",
      [f, deferred],
      ["tools.1.defer_loading: needs a tool of type service:tool_search"],
    ],
    ["nothing but deferred tools", [deferred, search], []],
    ["a search that says that it is not deferred", [f, deferred, { ...search, defer_loading: false }], []],
    [
      "a deferred search",
      [f, { ...search, defer_loading: true }],
      ["tools.1.defer_loading: must be false: tool search itself cannot be deferred"],
    ],
    [
      "a deferred search in the provider's spelling",
      [f, deferred, { type: "tool_search", defer_loading: true }],
      ["tools.2.defer_loading: must be false: tool search itself cannot be deferred"],
    ],
    [
      "a deferred tool in a namespace",
      [{ ...minimal["namespace"], tools: [deferred] }, f],
      ["tools.0.tools.0.defer_loading: needs a tool of type service:tool_search"],
    ],
  ])("with %s give the expected problems", (_, tools, problems) => {
    expect(listProblems({ tools })).toEqual(problems);
  });

  test.each<[unknown, readonly string[]]>([
    [undefined, []],
    ["auto", []],
    [{ type: "allowed_tools", mode: "auto", tools: [f] }, []],
    ["required", ["tool_choice: must be auto or allowed_tools while tools are deferred"]],
    ["none", ["tool_choice: must be auto or allowed_tools while tools are deferred"]],
    [f, ["tool_choice: must be auto or allowed_tools while tools are deferred"]],
  ])("give the expected problems for a tool choice while tools are deferred: %j", (tool_choice, problems) => {
    expect(listProblems({ tools: [f, deferred, search], tool_choice })).toEqual(problems);
  });
});

describe("a tool choice", () => {
  const all = kinds.filter(([type]) => type !== "namespace").map(([, entry]) => entry);
  const mcp = { type: "mcp", server_label: "s", name: "t" };

  test.each<[object]>([
    [f],
    [{ type: "custom", name: "c" }],
    [mcp],
    [{ type: "web_search" }],
    [{ type: "service:files" }],
  ])("%j is accepted", (choice) => {
    const tools = choice === mcp ? [minimal["mcp"]] : [{ ...minimal[(choice as Tool).type], ...choice }];
    expect(parseTurnRequest({ tools, tool_choice: choice }).toolChoice).toEqual({ type: "tool", tool: choice });
    const allowed = { type: "allowed_tools", mode: "required", tools: [choice] };
    expect(parseTurnRequest({ tools, tool_choice: allowed }).toolChoice).toEqual(allowed);
  });

  test.each(all.filter(({ type }) => !["function", "custom", "mcp"].includes(type)).map(({ type }) => [type]))(
    "is accepted with a tool of its type %s",
    (type) => {
      const choice = { type: "tool", tool: { type } };
      expect(parseTurnRequest({ tools: [minimal[type]], tool_choice: { type } }).toolChoice).toEqual(choice);
    },
  );

  test("in another spelling of the tool's kind means the given tool", () => {
    const tools = [{ type: "service:web_search" }];
    expect(parseTurnRequest({ tools, tool_choice: { type: "web_search_preview" } }).toolChoice).toEqual({
      type: "tool",
      tool: { type: "service:web_search" },
    });
  });

  test.each<[object, string]>([
    [{ type: "custom", name: "f" }, "tool_choice.name: is not among the tools"],
    [{ type: "mcp", server_label: "z" }, "tool_choice.server_label: is not among the tools"],
    [{ type: "shell" }, "tool_choice.type: shell is not among the tools"],
    [{ type: "allowed_tools", tools: [f] }, "tool_choice.mode: required"],
    [
      { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "z" }] },
      "tool_choice.tools.0.name: is not among the tools",
    ],
    [{ type: "allowed_tools", mode: "none", tools: [f] }, "tool_choice.mode: must be one of auto, required"],
  ])("%j is refused", (tool_choice, problem) => {
    expect(listProblems({ tools: [f], tool_choice })).toEqual([problem]);
  });
});

describe("the domain list of a tool", () => {
  const refused = (pattern: string) => [
    ...listProblems({ plugins: [{ id: "web", exclude_domains: [pattern] }] }),
    ...listProblems({ tools: [{ type: "service:web_fetch", parameters: { blocked_domains: [pattern] } }] }),
  ];
  const right = [
    "a.test",
    "*.a.test",
    "a.test/docs/",
    "A.test.",
    "https://a.test:80/x?y",
    "b\u00fccher.example",
    "[::1]",
  ];
  // None of these domains matches an address, so a page on a deny list would still be read.
  const wrong = ["not a domain", " a.test", "a.*", "*a.test", "a.test/*", "ftp://a.test", "*", "*.", "https://"];

  test.each(right)("accepts %j as a domain", (pattern) => {
    expect(refused(pattern)).toEqual([]);
  });

  test.each(wrong)("refuses %j as a domain", (pattern) => {
    const says = "must be a domain such as example.com, *.example.com or example.com/docs";
    expect(refused(pattern)).toEqual([
      `plugins.0.exclude_domains.0: ${says}`,
      `tools.0.parameters.blocked_domains.0: ${says}`,
    ]);
  });
});

describe("with a configured prefix of server tools", () => {
  const aliases = ["vendor:"];

  test("tools have neutral kinds inside, and answers keep the client's spelling", () => {
    const tools = [
      { type: "vendor:datetime" },
      { type: "vendor:experimental__search_models" },
      { type: "vendor:subagent", parameters: { tools: [{ type: "vendor:datetime" }] } },
    ];
    const request = parseTurnRequest(
      {
        tools,
        tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "vendor:datetime" }] },
        input: [
          { type: "vendor:web_search", id: "i", status: "completed" },
          { type: "additional_tools", role: "developer", tools: [{ type: "vendor:files" }] },
        ],
      },
      { aliases },
    );
    const kept = request.tools.map((entry) => entry.type === "hosted" && [entry.kind, entry.spelling]);
    expect(kept).toEqual([
      ["service:datetime", "vendor:datetime"],
      ["service:search_models", "vendor:experimental__search_models"],
      ["service:subagent", "vendor:subagent"],
    ]);
    expect(request.tools.map((entry) => entry.json)).toEqual(tools.map((entry) => JSON.stringify(entry)));
    expect(request.toolChoice).toMatchObject({ tools: [{ type: "service:datetime" }] });
    expect(request.input.map(({ type }) => type)).toEqual(["service:web_search", "additional_tools"]);
  });

  test("tools of unknown kinds keep their spelling", () => {
    expect(listProblems({ tools: [{ type: "vendor:spoon" }] }, { aliases })).toEqual([
      "tools.0.type: unknown type vendor:spoon",
    ]);
    expect(listProblems({ tools: [{ type: "vendor:datetime" }] })).toEqual([
      "tools.0.type: unknown type vendor:datetime",
    ]);
    expect(listProblems({ tools: [{ type: "vendor:mcp" }] }, { aliases })).toEqual([
      "tools.0.type: vendor:mcp is called mcp, without a prefix",
    ]);
  });
});
