/**
 * A request of about 20 KB, as an agent sends it in the middle of its work: messages, calls, outputs and tools. Its last message differs in each
 * request, so only the history is repeated.
 */

const rounds = 9;
const finding =
  "The log of the service shows connections that were opened in time and answers that began late, only in one of two regions. " +
  "The figures of the network between them are as they always are; those of the provider are not public. ";
const finished = finding.repeat(3);

/** Text before the number of a request, which has eight digits. */
export const numberPrefix = "Request ";
const numbered = `${numberPrefix}00000000. ${finished}`;

const parameters = {
  type: "object",
  properties: {
    service: { type: "string", description: "Name of the service, as the catalogue has it." },
    region: { type: "string", enum: ["eu-central", "eu-west", "us-east"] },
    from: {
      type: "string",
      format: "date-time",
      description: "Beginning of the period; an hour ago when it is left out.",
    },
    limit: { type: "integer", minimum: 1, maximum: 500 },
  },
  required: ["service", "region"],
  additionalProperties: false,
};
const tools = [
  "read_log",
  "read_metrics",
  "list_deployments",
  "list_incidents",
  "compare_regions",
  "describe_service",
].map((name) => ({
  name,
  description: `${name}: looks at one service in one region, and changes nothing.`,
  parameters,
}));

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  readonly output: string;
  /** User message after the call and its output. */
  readonly said: string;
}

const calls = Array.from({ length: rounds }, (_, n): Call => {
  const { name } = tools[n % tools.length] as { name: string };
  const settings = { service: "gateway", region: "eu-west", from: "2026-01-01T00:00:00Z", limit: 100 };
  const output = JSON.stringify({ lines: n, text: finished, truncated: false });
  const said = n === rounds - 1 ? numbered : finished;
  return { id: `call_${n}`, name, arguments: JSON.stringify(settings), output, said };
});

/** The same request in each format, without model, `stream` and token limit. */
export const longRequest = {
  responses: {
    instructions: finding,
    input: [
      { type: "message", role: "user", content: [{ type: "input_text", text: finished }] },
      ...calls.flatMap((call) => [
        { type: "function_call", call_id: call.id, name: call.name, arguments: call.arguments },
        { type: "function_call_output", call_id: call.id, output: call.output },
        { type: "message", role: "user", content: [{ type: "input_text", text: call.said }] },
      ]),
    ],
    tools: tools.map((tool) => ({ type: "function", ...tool })),
  },
  chat: {
    messages: [
      { role: "system", content: finding },
      { role: "user", content: finished },
      ...calls.flatMap((call) => [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments } }],
        },
        { role: "tool", tool_call_id: call.id, content: call.output },
        { role: "user", content: call.said },
      ]),
    ],
    tools: tools.map((tool) => ({ type: "function", function: tool })),
  },
  messages: {
    system: finding,
    messages: [
      { role: "user", content: finished },
      ...calls.flatMap((call) => [
        {
          role: "assistant",
          content: [{ type: "tool_use", id: call.id, name: call.name, input: JSON.parse(call.arguments) as object }],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: call.id, content: call.output },
            { type: "text", text: call.said },
          ],
        },
      ]),
    ],
    tools: tools.map(({ name, description, parameters: input_schema }) => ({ name, description, input_schema })),
  },
};
