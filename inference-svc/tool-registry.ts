/** Every tool Sluice runs. Any other hosted tool is rejected by name, unless a provider runs it. */
import type { FileReader } from "./content/files/texts.ts";
import type { FusionRunDeps } from "./features/fusion/run.ts";
import type { InternalModels } from "@sluice/proto/config/config-file.js";
import type { Catalog } from "./models/routing/catalog.ts";
import type { McpServers } from "./features/mcp/client.ts";
import type { VectorStores } from "./features/vector-stores/client.ts";
import type { Web } from "./features/web/client.ts";
import { datetime } from "./features/datetime/tool.ts";
import { fileSearchTool } from "./features/vector-stores/tool.ts";
import { filesTool } from "./features/file-parser/tool.ts";
import { fusion } from "./features/fusion/tool.ts";
import { searchModels } from "./features/search-models/tool.ts";
import { advisor } from "./features/model-tools/advisor.ts";
import { hostedImageGeneration, imageGeneration } from "./features/model-tools/image-generation.ts";
import type { StateSeal } from "./content/sealed-state.ts";
import { subagent } from "./features/model-tools/subagent.ts";
import { mcp } from "./features/mcp/tool.ts";
import type { CalledModels } from "./agent-loop/called-models.ts";
import { bashTool } from "./features/sandbox/bash.ts";
import { codeInterpreter, hostedCodeInterpreter } from "./features/sandbox/code-interpreter.ts";
import type { SandboxDeps } from "./features/sandbox/container.ts";
import { hostedShell, shellTool } from "./features/sandbox/shell.ts";
import type { ServerTool } from "./agent-loop/tool.ts";
import { toolSearch } from "./features/tool-search/tool.ts";
import type { ToolSource } from "./agent-loop/tool-source.ts";
import { webFetchTool } from "./features/web/fetch-tool.ts";
import { hostedSearchTool, webSearchTool } from "./features/web/search-tool.ts";

export interface ToolRegistryDeps extends SandboxDeps {
  readonly catalog: Catalog;
  readonly web: Web;
  readonly files: FileReader;
  readonly vectorStores: VectorStores;
}

/** Tools that call no other model, so models called by a tool may have them, too. */
export const plainTools = ({
  catalog,
  web,
  files,
  vectorStores,
  ...sandbox
}: ToolRegistryDeps): readonly ServerTool[] => [
  datetime(Date.now),
  searchModels(catalog.models),
  toolSearch,
  webSearchTool(web),
  hostedSearchTool(web),
  webFetchTool(web),
  filesTool(files),
  bashTool(sandbox),
  shellTool(sandbox),
  hostedShell(sandbox),
  codeInterpreter(sandbox),
  hostedCodeInterpreter(sandbox),
  fileSearchTool(vectorStores),
];

/** Dependencies of tools that call models. */
export interface CallingToolDeps {
  readonly fusion: FusionRunDeps;
  readonly models: CalledModels;
  readonly roles: InternalModels;
  /** Seals the state of subagents that wait for the client. */
  readonly subagentSeal: StateSeal;
}

export const allTools = (
  plain: readonly ServerTool[],
  { fusion: runs, models, roles, subagentSeal }: CallingToolDeps,
): readonly ServerTool[] => {
  const images = { models, model: roles.image?.model };
  return [
    ...plain,
    fusion(runs),
    advisor({ models, model: roles.advisor?.model }),
    subagent({ models, seal: subagentSeal }),
    imageGeneration(images),
    hostedImageGeneration(images),
  ];
};

/** Tool sources. Models called by a tool cannot use them, because nobody could approve their calls. */
export const allSources = (servers: McpServers): readonly ToolSource[] => [mcp(servers)];
