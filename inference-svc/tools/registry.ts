/** Every tool Sluice runs. Any other hosted tool is rejected by name, unless a provider runs it. */
import type { FileReader } from "../files/texts.ts";
import type { RunParts } from "../fusion/run.ts";
import type { InternalModels } from "@sluice/proto/config/config-file.js";
import type { Catalog } from "../routing/catalog.ts";
import type { McpServers } from "../mcp/servers.ts";
import type { VectorStores } from "../vector-stores/vector-stores.ts";
import type { Web } from "../web/web.ts";
import { datetime } from "./datetime.ts";
import { fileSearchTool } from "./file-search.ts";
import { filesTool } from "./files.ts";
import { fusion } from "./fusion.ts";
import { searchModels } from "./search-models.ts";
import { advisor } from "./models/advisor.ts";
import { hostedImageGeneration, imageGeneration } from "./models/image-generation.ts";
import type { StateSeal } from "./models/sealed-state.ts";
import { subagent } from "./models/subagent.ts";
import { mcp } from "./mcp/mcp.ts";
import type { PartModels } from "./part-models.ts";
import { bashTool } from "./sandbox/bash.ts";
import { codeInterpreter, hostedCodeInterpreter } from "./sandbox/code-interpreter.ts";
import type { SandboxParts } from "./sandbox/container.ts";
import { hostedShell, shellTool } from "./sandbox/shell.ts";
import type { ServerTool } from "./tool.ts";
import { toolSearch } from "./tool-search.ts";
import type { ToolSource } from "./tool-source.ts";
import { webFetchTool } from "./web/web-fetch.ts";
import { hostedSearchTool, webSearchTool } from "./web/web-search.ts";

export interface ToolRegistryParts extends SandboxParts {
  readonly catalog: Catalog;
  readonly web: Web;
  readonly files: FileReader;
  readonly vectorStores: VectorStores;
}

/** Tools that call no other model: models called by a tool may have these, too. */
export const plainTools = ({
  catalog,
  web,
  files,
  vectorStores,
  ...sandbox
}: ToolRegistryParts): readonly ServerTool[] => [
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
export interface CallingToolParts {
  readonly fusion: RunParts;
  readonly models: PartModels;
  readonly roles: InternalModels;
  /** Seals the state of subagents waiting for the client. */
  readonly subagentSeal: StateSeal;
}

export const allTools = (
  plain: readonly ServerTool[],
  { fusion: runs, models, roles, subagentSeal }: CallingToolParts,
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

/** Tool sources. Models called by a tool cannot use them: nobody could approve their calls. */
export const allSources = (servers: McpServers): readonly ToolSource[] => [mcp(servers)];
