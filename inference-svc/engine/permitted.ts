/**
 * Refuses requests for plugins and tools a key may not use. Permissions for models, providers and engines are checked
 * where these are chosen.
 */
import { pluginContracts } from "@sluice/proto/contract/plugins/plugins.js";
import { requirePermittedTools } from "../agent-loop/permitted-tools.ts";
import type { Permissions } from "../turn/permissions.ts";
import { autoBetaSlug, autoSlug, jevSlug, namesFusion, paretoSlug, switchyardSlug } from "../features/slugs.ts";
import { hasAlias } from "../models/routing/choose/model-aliases.ts";
import type { TurnRequest } from "../turn/request.ts";

/** The router plugins, which a request selects by a slug instead of a model. */
const routerPlugins = [
  { slug: autoSlug, id: "auto-router" },
  { slug: autoBetaSlug, id: "auto-beta-router" },
  { slug: paretoSlug, id: "pareto-router" },
  { slug: switchyardSlug, id: "switchyard-router" },
  { slug: jevSlug, id: "jev-router" },
] as const;

/** Plugin ids by the protobuf type of the plugin's settings. */
const idsByType = new Map(Object.entries(pluginContracts).map(([id, { descriptor }]) => [descriptor.typeName, id]));

/** Checks the plugins and tools of a request. @throws Fault PERMISSION_DENIED naming the permission and the value */
export function requirePermitted(request: TurnRequest, permissions: Permissions): void {
  if (permissions.restricts("plugins")) for (const id of pluginsIn(request)) permissions.require("plugins", id);
  requirePermittedTools(request, permissions);
}

function pluginsIn(request: TurnRequest): ReadonlySet<string> {
  const { plugins = {} } = request;
  const ids = Object.values(plugins).map((settings) => idsByType.get(settings.$typeName) as string);
  if (namesFusion(request)) ids.push("fusion");
  for (const { slug, id } of routerPlugins) if (hasAlias([{ slug }], request)) ids.push(id);
  return new Set(ids);
}
