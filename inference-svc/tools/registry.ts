/** Every tool that the house runs itself. What is missing here is refused by name, unless a provider runs it. */
import type { RunParts } from "../fusion/run.ts";
import type { Catalog } from "../routing/catalog.ts";
import type { Web } from "../web/web.ts";
import { datetime } from "./datetime.ts";
import { fusion } from "./fusion.ts";
import { searchModels } from "./search-models.ts";
import type { ServerTool } from "./tool.ts";
import { toolSearch } from "./tool-search.ts";
import { webFetch } from "./web-fetch.ts";
import { webSearch } from "./web-search.ts";

export interface ToolSurroundings {
  readonly catalog: Catalog;
  readonly web: Web;
}

/** Those that ask no other model: what other models that are asked may have, too. */
export const plainTools = ({ catalog, web }: ToolSurroundings): readonly ServerTool[] => [
  datetime(Date.now),
  searchModels(catalog.models),
  toolSearch,
  webSearch(web),
  webFetch(web),
];

export const allTools = (plain: readonly ServerTool[], fusing: RunParts): readonly ServerTool[] => [
  ...plain,
  fusion(fusing),
];
