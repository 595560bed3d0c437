/** The playground's request, and code that sends the same request from other programs. */

export interface PlaygroundRequest {
  readonly model: string;
  readonly input: string | readonly unknown[];
  readonly instructions?: string;
  readonly max_output_tokens?: number;
  readonly tools?: unknown;
  readonly plugins?: unknown;
}

export interface PlaygroundDraft {
  readonly model: string;
  readonly input: string;
  readonly instructions: string;
  readonly max: string;
  /** JSON array of the items before the input. */
  readonly earlier: string;
  /** JSON array of tools. */
  readonly tools: string;
  /** JSON array of plugins. */
  readonly plugins: string;
}

/** The request of a draft. @throws SyntaxError naming the field with invalid JSON */
export const toPlaygroundRequest = ({
  model,
  input,
  instructions,
  max,
  earlier,
  tools,
  plugins,
}: PlaygroundDraft): PlaygroundRequest => ({
  model,
  input: earlier.trim() === "" ? input : withEarlier(parse("Earlier messages", earlier), input),
  ...(instructions.trim() !== "" && { instructions }),
  ...(max.trim() !== "" && { max_output_tokens: Number(max) }),
  ...(tools.trim() !== "" && { tools: parse("Tools", tools) }),
  ...(plugins.trim() !== "" && { plugins: parse("Plugins", plugins) }),
});

const withEarlier = (items: unknown, input: string): readonly unknown[] => [
  ...(Array.isArray(items) ? items : [items]),
  ...(input.trim() === "" ? [] : [{ role: "user", content: input }]),
];

function parse(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

interface Form {
  readonly name: string;
  readonly write: (request: PlaygroundRequest, origin: string) => string;
}

const inShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const indented = (value: unknown, by: number): string =>
  JSON.stringify(value, null, 2).replaceAll("\n", `\n${" ".repeat(by)}`);

/** The request as code for other programs, which read their key from the variable SLUICE_KEY. */
export const requestForms: readonly Form[] = [
  {
    name: "curl",
    write: (request, origin) =>
      [
        `curl -N ${origin}/api/v1/responses \\`,
        `  -H "Authorization: Bearer $SLUICE_KEY" \\`,
        `  -H "Content-Type: application/json" \\`,
        `  -d ${inShell(JSON.stringify({ ...request, stream: true }))}`,
      ].join("\n"),
  },
  {
    name: "openai",
    write: (request, origin) =>
      [
        `import OpenAI from "openai";`,
        "",
        `const client = new OpenAI({ baseURL: "${origin}/api/v1", apiKey: process.env.SLUICE_KEY });`,
        `const response = await client.responses.create(${indented(request, 0)});`,
        "console.log(response.output_text);",
      ].join("\n"),
  },
  {
    name: "ai",
    write: ({ model, input, instructions, max_output_tokens: max }, origin) =>
      [
        `import { createOpenAI } from "@ai-sdk/openai";`,
        `import { generateText } from "ai";`,
        "",
        `const sluice = createOpenAI({ baseURL: "${origin}/api/v1", apiKey: process.env.SLUICE_KEY });`,
        "const { text } = await generateText({",
        `  model: sluice.responses(${JSON.stringify(model)}),`,
        ...(instructions === undefined ? [] : [`  system: ${JSON.stringify(instructions)},`]),
        `  ${typeof input === "string" ? "prompt" : "messages"}: ${JSON.stringify(input)},`,
        ...(max === undefined ? [] : [`  maxOutputTokens: ${max},`]),
        "  providerOptions: { openai: { store: false } },",
        "});",
        "console.log(text);",
      ].join("\n"),
  },
  {
    name: "Codex",
    write: ({ model }, origin) =>
      [
        "# ~/.codex/config.toml",
        `model = ${JSON.stringify(model)}`,
        `model_provider = "sluice"`,
        "",
        "[model_providers.sluice]",
        `name = "Sluice"`,
        `base_url = "${origin}/api/v1"`,
        `env_key = "SLUICE_KEY"`,
        `wire_api = "responses"`,
      ].join("\n"),
  },
  {
    name: "Claude Code",
    write: ({ model }, origin) =>
      [
        `export ANTHROPIC_BASE_URL=${origin}/api`,
        "export ANTHROPIC_AUTH_TOKEN=$SLUICE_KEY",
        `export ANTHROPIC_MODEL=${inShell(model)}`,
        "claude",
      ].join("\n"),
  },
];
