/** Text for the person who starts Sluice: its address, the keys, and a working request. */
import type { LeftOut } from "@sluice/proto/config/config-file.js";
import { type Hosts, type Ports, baseUrlOf, acceptsOtherMachines, toReachableHost } from "./ports.ts";
import { program } from "./places.ts";
import type { StartLink } from "./start-link.ts";
import type { Credential, Credentials } from "./secrets.ts";

export interface BannerFacts {
  readonly ports: Ports;
  readonly hosts: Hosts;
  /** Whether the gateway shows the console. */
  readonly showsConsole: boolean;
  /** Link that signs in to the console once; undefined if the gateway accepts other machines. */
  readonly startLink?: StartLink | undefined;
  readonly keys: Credentials;
  /** Model in the example request; undefined when no model is served. */
  readonly model: string | undefined;
  /** Path of the configuration file. */
  readonly config: string;
  readonly leftOut: readonly LeftOut[];
  readonly logsDir: string;
  readonly startedInMs: number;
}

export function banner(facts: BannerFacts): string {
  const { managementKey, apiKey, keysFile } = facts.keys;
  const { ports, hosts } = facts;
  const baseUrl = baseUrlOf(ports, hosts);
  const lines = [
    "",
    `ready  ${baseUrl}  (${(facts.startedInMs / 1000).toFixed(1)} s)`,
    `  API key         ${shown(apiKey, "SLUICE_BOOTSTRAP_API_KEY", keysFile)}`,
    `  management key  ${shown(managementKey, "SLUICE_BOOTSTRAP_MANAGEMENT_KEY", keysFile)}`,
    `  documentation   ${new URL("/docs", baseUrl).href}`,
    `  console         ${facts.showsConsole ? `${new URL("/console", baseUrl).href}, with the management key` : noConsole}`,
    ...(facts.startLink
      ? [`  sign in         ${new URL(`/console#link=${facts.startLink.token}`, baseUrl).href}  (once, within minutes)`]
      : []),
    `  metrics         ${metrics(ports, hosts)}`,
    `  configuration   ${facts.config}`,
    `  logs            ${facts.logsDir}`,
    `  listens on      ${listening(hosts.gateway)}`,
  ];
  if (managementKey.origin === "new" || apiKey.origin === "new") {
    lines.push(`  New keys are printed only once; they are kept in ${keysFile}.`);
  }
  if (facts.leftOut.length > 0) {
    const providers = facts.leftOut.map(({ provider, unset }) => `${provider} (${unset.join(", ")})`);
    lines.push(`  left out        ${providers.join(", ")}: the variables that configure them are not set`);
  }
  const { model } = facts;
  lines.push(
    "",
    ...(model === undefined ? withoutModel(facts) : ["Try it:", "", ...curl(facts.keys, baseUrl, model)]),
    "",
  );
  return lines.join("\n");
}

const noConsole = "not shown; console.enabled in the configuration file decides";

const metrics = (ports: Ports, { internal }: Hosts): string =>
  [ports.gateway_health, ports.inference_health, ports.admin_health]
    .map((port) => `http://${toReachableHost(internal)}:${port}/metrics`)
    .join(" ");

const listening = (host: string): string =>
  acceptsOtherMachines(host)
    ? host
    : `${host}, for programs on this machine; SLUICE_HOST=0.0.0.0 opens the gateway to others`;

/** Lines for a Sluice without a model, in which every request would fail: they name the missing variables. */
function withoutModel({ config, leftOut }: BannerFacts): string[] {
  const variables = leftOut.flatMap(({ unset }) => unset);
  return [
    "No model is configured yet, so every request for a response is refused with 404. To have one:",
    ...(variables.length > 0
      ? [`  - set the variables of a provider that is left out: ${variables.join(", ")}; then start again`]
      : []),
    `  - or add models, or a provider with known_models: true, to ${config}; it is read again when it changes`,
    `${program.call} check-config  shows what would be served.`,
  ];
}

function shown(key: Credential, variable: string, keysFile: string): string {
  if (key.origin === "new") return key.value;
  return key.origin === "kept" ? `in ${keysFile}` : `as given in ${variable}`;
}

function curl(keys: Credentials, baseUrl: string, model: string): string[] {
  const body = JSON.stringify({ model, input: "Say hello", stream: true });
  return [
    `curl -N ${baseUrl}/responses \\`,
    `  -H "Authorization: Bearer ${inShell(keys)}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${body}'`,
  ];
}

/** The key as text for a shell. A new key is shown once; later, the example request reads it from its file. */
function inShell({ apiKey, keysFile }: Credentials): string {
  if (apiKey.origin === "new") return apiKey.value;
  if (apiKey.origin === "environment") return "$SLUICE_BOOTSTRAP_API_KEY";
  return `$(node -p 'require("${keysFile}").api_key')`;
}
