/** Refuses requests for plugins that a key may not use. Models, providers and tools are checked where they are chosen. */
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import type { Permissions } from "../turn/permissions.ts";
import {
  autoBetaSlug,
  autoSlug,
  isOnline,
  jevSlug,
  namesFusion,
  paretoSlug,
  switchyardSlug,
} from "../features/slugs.ts";
import { hasAlias } from "../models/routing/choose/model-aliases.ts";
import type { TurnRequest } from "../turn/request.ts";

/** Plugins behind slugs of models. */
const routerPlugins = [
  { slug: autoSlug, id: "auto-router" },
  { slug: autoBetaSlug, id: "auto-beta-router" },
  { slug: paretoSlug, id: "pareto-router" },
  { slug: switchyardSlug, id: "switchyard-router" },
  { slug: jevSlug, id: "jev-router" },
] as const;

/** Ids of plugins by the type of their settings. */
const idsByType = new Map(Object.entries(pluginContracts).map(([id, { descriptor }]) => [descriptor.typeName, id]));

/** @throws Fault PERMISSION_DENIED naming the permission and the value */
export function requirePermitted(request: TurnRequest, permissions: Permissions): void {
  if (!permissions.restricts("plugins")) return;
  for (const id of pluginsIn(request)) permissions.require("plugins", id);
}

function pluginsIn(request: TurnRequest): ReadonlySet<string> {
  const { plugins = {}, models } = request;
  const ids = Object.values(plugins).map((settings) => idsByType.get(settings.$typeName) as string);
  if (models.some(isOnline)) ids.push("web");
  if (namesFusion(request)) ids.push("fusion");
  for (const { slug, id } of routerPlugins) if (hasAlias([{ slug }], request)) ids.push(id);
  return new Set(ids);
}
