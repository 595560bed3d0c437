/** The clients that tests run unmodified, with the tested features of each; the table in the documentation is generated from them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../processes.ts";
import { foreignVersion, type ToolchainName, toolchains } from "./languages.ts";
import { type InstalledProgram, programs } from "../programs/programs.ts";

export type ClientFeature =
  | "text"
  | "stream"
  | "tools"
  | "structured output"
  | "images"
  | "errors"
  | "abort"
  | "retries"
  | "parallel tools"
  | "thinking"
  | "context overflow"
  | "embeddings";

export type ClientDoor = "responses" | "chat" | "messages" | "embeddings";

export interface CoveredClient {
  /** The package installed by users, or two packages if one is used through the other. */
  readonly client: string;
  /** Installed names of the packages, in the same order; those of `deploy/test-clients/` begin with `test-clients/`. */
  readonly installed: readonly string[];
  readonly door: ClientDoor;
  readonly features: readonly ClientFeature[];
  /** Language and program; absent for JavaScript clients. */
  readonly foreign?: ForeignClient;
}

interface ForeignClient {
  /** Name of the set of packages. */
  readonly set: ToolchainName;
  /** Name of the client's program. */
  readonly program: string;
  readonly version: string;
}

const turn = ["text", "stream", "tools", "structured output", "images", "errors", "abort", "retries"] as const;

const covered = (
  client: string,
  installed: readonly string[],
  doors: readonly ClientDoor[] = ["responses", "chat"],
  features: readonly ClientFeature[] = turn,
): CoveredClient[] =>
  doors.map((door) => ({
    client,
    installed,
    door,
    features: door === "embeddings" ? ["embeddings", "errors"] : features,
  }));

/** @param packages packages of the set, shown with their versions @param program name of the client's program */
const foreign = (
  set: ToolchainName,
  program: string,
  packages: readonly string[],
  doors: readonly ClientDoor[],
  features: readonly ClientFeature[],
): CoveredClient[] =>
  doors.map((door) => ({
    client: packages.join(", "),
    installed: [`${set}/${program}`],
    door,
    features:
      door === "embeddings"
        ? ["embeddings", "errors"]
        : // These clients read no reasoning, since the format of chat completions has no field for it that they know.
          features.filter((feature) => feature !== "thinking" || door !== "chat"),
    foreign: { set, program, version: packages.map((name) => foreignVersion(set, name)).join(", ") },
  }));

const whole = [...turn, "parallel tools"] as const;
/** Features of frameworks, without retries, which are settings of their inner client. */
const framework = ["text", "stream", "tools", "parallel tools", "structured output", "images", "errors"] as const;

const foreignClients: readonly CoveredClient[] = [
  ...(["python3", "python2"] as const).flatMap((set) => [
    ...foreign(set, "openai_sdk", ["openai"], ["responses", "chat", "embeddings"], [...whole, "thinking"]),
    ...foreign(set, "anthropic_sdk", ["anthropic"], ["messages"], [...whole, "thinking"]),
  ]),
  ...foreign("python3", "langchain_openai_sdk", ["langchain-openai"], ["responses", "chat", "embeddings"], whole),
  ...foreign("python3", "langchain_anthropic_sdk", ["langchain-anthropic"], ["messages"], whole),
  ...foreign("python3", "agents_sdk", ["openai-agents"], ["responses", "chat"], framework),
  ...foreign("python3", "pydantic_ai_sdk", ["pydantic-ai-slim"], ["responses", "chat", "messages"], framework),
  ...foreign(
    "litellm",
    "litellm_sdk",
    ["litellm"],
    ["chat", "messages", "embeddings"],
    [...framework, "retries", "context overflow"],
  ),
  ...foreign(
    "go",
    "openai3",
    ["github.com/openai/openai-go/v3"],
    ["responses", "chat", "embeddings"],
    [...whole, "thinking"],
  ),
  ...["openai2", "openai1"].flatMap((program) => {
    const module = `github.com/openai/openai-go${program === "openai2" ? "/v2" : ""}`;
    return foreign("go", program, [module], ["chat"], ["text", "stream", "parallel tools", "errors"]);
  }),
  ...foreign(
    "go",
    "anthropic",
    ["github.com/anthropics/anthropic-sdk-go"],
    ["messages"],
    [...whole.filter((feature) => feature !== "structured output"), "thinking"],
  ),
  ...foreign("java", "openai", ["openai-java"], ["responses", "chat", "embeddings"], [...whole, "thinking"]),
  ...foreign(
    "java",
    "anthropic",
    ["anthropic-java"],
    ["messages"],
    [...whole.filter((feature) => feature !== "structured output"), "thinking"],
  ),
  ...foreign(
    "java",
    "langchain4j",
    ["langchain4j"],
    ["chat", "messages", "embeddings"],
    ["text", "stream", "tools", "parallel tools", "images", "errors"],
  ),
  ...foreign(
    "rust",
    "async_openai",
    ["async-openai"],
    ["chat", "embeddings"],
    ["text", "stream", "tools", "parallel tools", "structured output", "images", "errors", "abort"],
  ),
  ...foreign("rust", "async_openai", ["async-openai"], ["responses"], ["text", "stream"]),
  ...foreign("instructor", "instructor_sdk", ["instructor"], ["chat"], ["structured output"]),
];

const apart = "test-clients/";

export const coveredClients: readonly CoveredClient[] = [
  ...["openai-7", "openai", `${apart}openai`].flatMap((name) =>
    covered("openai", [name], ["responses", "chat", "embeddings"]),
  ),
  ...["", apart].flatMap((folder) =>
    covered("@langchain/openai", [`${folder}@langchain/openai`], ["responses", "chat", "embeddings"]),
  ),
  ...[
    ["ai7", "ai-sdk-openai-4"],
    ["ai", "@ai-sdk/openai"],
  ].flatMap((names) => covered("ai, @ai-sdk/openai", names, ["responses", "chat", "embeddings"])),
  ...[
    ["ai7", "ai-sdk-openai-compatible-3"],
    ["ai", "@ai-sdk/openai-compatible"],
  ].flatMap((names) => covered("ai, @ai-sdk/openai-compatible", names, ["chat", "embeddings"])),
  ...[apart, ""].flatMap((folder) =>
    covered("ai, @openrouter/ai-sdk-provider", [`${folder}ai`, `${folder}@openrouter/ai-sdk-provider`], ["chat"]),
  ),
  ...[
    ["ai7", "ai-sdk-anthropic-4"],
    ["ai", "@ai-sdk/anthropic"],
  ].flatMap((names) => covered("ai, @ai-sdk/anthropic", names, ["messages"])),
  ...covered("ai, @ai-sdk/open-responses", ["ai", "@ai-sdk/open-responses"], ["responses"]),
  ...["@openrouter/sdk", "openrouter-sdk-0"].flatMap((name) =>
    covered("@openrouter/sdk", [name], ["responses", "chat", "embeddings"]),
  ),
  ...["@openai/agents", "openai-agents-0.19"].flatMap((name) => covered("@openai/agents", [name])),
  ...["@anthropic-ai/sdk", "anthropic-sdk-0"].flatMap((name) => covered("@anthropic-ai/sdk", [name], ["messages"])),
  ...["", apart].flatMap((folder) => covered("@langchain/anthropic", [`${folder}@langchain/anthropic`], ["messages"])),
  ...foreignClients,
];

/** A program, or a published comparison of servers, and its tasks in tests. */
export interface CoveredProgram {
  readonly program: string;
  readonly version: string;
  readonly doors: readonly ClientDoor[];
  readonly tasks: readonly string[];
}

const program = (
  { name, version }: InstalledProgram,
  doors: readonly ClientDoor[],
  ...tasks: string[]
): CoveredProgram => ({
  program: name,
  version,
  doors,
  tasks,
});
const threeCalls = "a task with three tool calls";

export const coveredPrograms: readonly CoveredProgram[] = [
  program(
    programs.claudeCode,
    ["messages"],
    threeCalls,
    "a web search that nothing runs",
    "a model that does not exist",
  ),
  program(programs.codex, ["responses"], threeCalls, "the same over one WebSocket"),
  program(programs.opencode, ["chat", "messages", "responses"], threeCalls),
  program(programs.llm, ["chat"], threeCalls),
  program(programs.aider, ["chat", "messages"], "a file that it edits until a command succeeds"),
  program(programs.promptfoo, ["chat", "messages", "responses"], "an evaluation"),
  {
    program: "Open Responses",
    version: "2026-07",
    doors: ["responses"],
    tasks: ["its requests, whole and streamed, with `compat.fill_defaults: true`"],
  },
];

/** Installed version of a client, such as "7.57.0", or "7.0.173, 4.0.118" of two packages. */
export const versionOf = ({ installed, foreign: other }: CoveredClient): string =>
  other?.version ??
  installed
    .map((name) => JSON.parse(readFileSync(manifestOf(name), "utf8")) as { version: string })
    .map(({ version }) => version)
    .join(", ");

/** Path of a package's manifest: npm puts a package into the folder of its workspace or into that of the checkout. */
function manifestOf(name: string): string {
  const workspace = name.startsWith(apart) ? `deploy/${apart}` : "test/";
  const path = join("node_modules", name.replace(apart, ""), "package.json");
  return [join(root, workspace, path), join(root, path)].find(existsSync) as string;
}

/** The lines around the table on the clients page. */
const tableStart = "<!-- tested clients: made by npm run clients -->\n";
const tableEnd = "\n<!-- end of tested clients -->";

export const clientsPage = join(root, "docs/clients/README.md");

/** The page with the current table. @throws if the page lacks the lines around it */
export function withTable(page: string): string {
  const [start, end] = [page.indexOf(tableStart), page.indexOf(tableEnd)];
  if (start === -1 || end < start) throw new Error(`${clientsPage} has no lines ${tableStart} and ${tableEnd}`);
  return page.slice(0, start) + tableStart + coverageTable() + page.slice(end);
}

function coverageTable(): string {
  const rows = coveredClients.map((each) => {
    const names = each.client
      .split(", ")
      .map((name) => `\`${name}\``)
      .join(", ");
    const language = each.foreign ? toolchains[each.foreign.set].language : "JavaScript";
    return `| ${names} | ${versionOf(each)} | ${language} | ${each.door} | ${each.features.join(", ")} |`;
  });
  const programRows = coveredPrograms.map(
    (each) => `| ${each.program} | ${each.version} | | ${each.doors.join(", ")} | ${each.tasks.join(", ")} |`,
  );
  return ["| client | version | language | door | features |", "|---|---|---|---|---|", ...rows, ...programRows].join(
    "\n",
  );
}
