/** Schema of the configuration file: a file per section in this folder, and a schema per process. */
import { z } from "zod";
import { alignment } from "./alignment.ts";
import { consoleSection } from "./console/section.ts";
import { edgeCapture } from "./sinks/capture.ts";
import { detector, namedDetector } from "./detectors.ts";
import { compat, cors, gatewayHost, logClientAddresses, responses, trustedProxies } from "./edge.ts";
import { endUsers } from "./end-users.ts";
import { fileSearch } from "./file-search.ts";
import { internalModels } from "./internal-models.ts";
import { limits } from "./limits.ts";
import { mcp } from "./mcp.ts";
import { model } from "./model.ts";
import { modelAliases } from "./model-aliases.ts";
import { permissions } from "./permissions.ts";
import { provider } from "./provider.ts";
import { autoRouter, fusion } from "./routers.ts";
import { sandbox } from "./sandbox.ts";
import { sinkSections } from "./sinks/sinks.ts";
import { tools } from "./tools.ts";
import { tracing } from "./tracing.ts";
import { search, webFetch } from "./web.ts";

export const configSchema = z.strictObject({
  host: gatewayHost,
  console: consoleSection.prefault({}),
  echo: z
    .boolean()
    .optional()
    .describe("Whether the built-in model sluice/echo is served; true under `npm start` unless this says false."),
  providers: z.array(provider).default([]),
  models: z.array(model).default([]),
  model_aliases: modelAliases,
  internal_models: internalModels.prefault({}),
  detectors: z.array(detector).default([]),
  alignment: alignment.prefault({}),
  fusion: fusion.prefault({}),
  auto_router: autoRouter.prefault({}),
  search: search.prefault({}),
  fetch: webFetch.prefault({}),
  file_search: fileSearch.prefault({}),
  tools: tools.prefault({}),
  sandbox: sandbox.optional(),
  mcp: mcp.prefault({}),
  limits: limits.prefault({}),
  end_users: endUsers.prefault({}),
  permissions: permissions.prefault({}),
  compat: compat.prefault({}),
  responses: responses.prefault({}),
  cors: cors.prefault({}),
  trusted_proxies: trustedProxies,
  log_client_addresses: logClientAddresses,
  tracing: tracing.prefault({}),
  ...sinkSections,
});

/** Sections read by the gateway. */
export const edgeSchema = z.object({
  host: gatewayHost,
  console: consoleSection.prefault({}),
  limits: limits.prefault({}),
  compat: compat.prefault({}),
  responses: responses.prefault({}),
  cors: cors.prefault({}),
  trusted_proxies: trustedProxies,
  log_client_addresses: logClientAddresses,
  capture: edgeCapture,
  detectors: z.array(namedDetector).default([]),
});

export type ConfigFile = z.infer<typeof configSchema>;
export type ProviderSettings = ConfigFile["providers"][number];
export type ModelSettings = ConfigFile["models"][number];
export type EndpointSettings = ModelSettings["endpoints"][number];
export type InternalModels = ConfigFile["internal_models"];
export type Limits = ConfigFile["limits"];
export type Compat = ConfigFile["compat"];
export type ConsoleSettings = EdgeSettings["console"];
export type EdgeSettings = z.infer<typeof edgeSchema>;
