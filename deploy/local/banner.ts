/** Text for the person who starts Sluice: its address, the keys, and a request that works. */
import type { LeftOut } from "@sluice/proto/runtime/house-file.js";
import { isOpen } from "./ports.ts";
import type { Credential, Credentials } from "./secrets.ts";

export interface BannerFacts {
  readonly baseUrl: string;
  /** Whether the gateway shows the console. */
  readonly showsConsole: boolean;
  /** Address on which the gateway listens. */
  readonly host: string;
  readonly keys: Credentials;
  /** Model of the curl line; undefined when no model is served. */
  readonly model: string | undefined;
  /** Path of the configuration file. */
  readonly config: string;
  readonly leftOut: readonly LeftOut[];
  readonly logsDir: string;
  readonly startedInMs: number;
}

export function banner(facts: BannerFacts): string {
  const { managementKey, apiKey, keysFile } = facts.keys;
  const lines = [
    "",
    `ready  ${facts.baseUrl}  (${(facts.startedInMs / 1000).toFixed(1)} s)`,
    `  API key         ${shown(apiKey, "SLUICE_BOOTSTRAP_API_KEY", keysFile)}`,
    `  management key  ${shown(managementKey, "SLUICE_BOOTSTRAP_MANAGEMENT_KEY", keysFile)}`,
    ...(facts.showsConsole
      ? [`  console         ${new URL("/console", facts.baseUrl).href}, with the management key`]
      : []),
    `  logs            ${facts.logsDir}`,
    `  listens on      ${listening(facts.host)}`,
  ];
  if (managementKey.origin === "new" || apiKey.origin === "new") {
    lines.push(`  New keys are printed only once; they are kept in ${keysFile}.`);
  }
  if (facts.leftOut.length > 0) {
    const providers = facts.leftOut.map(({ provider, unset }) => `${provider} (${unset.join(", ")})`);
    lines.push(`  left out        ${providers.join(", ")}: the variables that configure them are not set`);
  }
  const { model } = facts;
  lines.push("", ...(model === undefined ? withoutModel(facts) : ["Try it:", "", ...curl(facts, model)]), "");
  return lines.join("\n");
}

const listening = (host: string): string =>
  isOpen(host) ? host : `${host}, for programs on this machine; SLUICE_HOST=0.0.0.0 opens the gateway to others`;

/** Says what is missing, because every request would fail. */
function withoutModel({ config, leftOut }: BannerFacts): string[] {
  const variables = leftOut.flatMap(({ unset }) => unset);
  return [
    "No model is configured yet, so every request for a response is refused with 400. To have one:",
    ...(variables.length > 0
      ? [`  - set the variables of a provider that is left out: ${variables.join(", ")}; then start again`]
      : []),
    `  - or add models, or a provider with known_models: true, to ${config}; it is read again when it changes`,
    "npm run --silent admin -- check-config  shows what would be served.",
  ];
}

function shown(key: Credential, variable: string, keysFile: string): string {
  if (key.origin === "new") return key.value;
  return key.origin === "kept" ? `in ${keysFile}` : `as given in ${variable}`;
}

function curl({ baseUrl, keys }: BannerFacts, model: string): string[] {
  const body = JSON.stringify({ model, input: "Say hello", stream: true });
  return [
    `curl -N ${baseUrl}/responses \\`,
    `  -H "Authorization: Bearer ${inShell(keys)}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${body}'`,
  ];
}

/** A new key is shown once; later the curl line reads it from its file. */
function inShell({ apiKey, keysFile }: Credentials): string {
  if (apiKey.origin === "new") return apiKey.value;
  if (apiKey.origin === "environment") return "$SLUICE_BOOTSTRAP_API_KEY";
  return `$(node -p 'require("${keysFile}").api_key')`;
}
