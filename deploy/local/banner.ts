/** What a person reads once the house is up: where it is, the keys, and a line that works. */
import type { Credential, Credentials } from "./secrets.ts";

export interface BannerFacts {
  readonly baseUrl: string;
  readonly keys: Credentials;
  /** The model of the curl line. */
  readonly model: string;
  /** Providers that the environment does not configure. */
  readonly leftOut: readonly string[];
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
    `  logs            ${facts.logsDir}`,
  ];
  if (managementKey.origin === "new" || apiKey.origin === "new") {
    lines.push(`  New keys are printed this once; they are kept in ${keysFile}.`);
  }
  if (facts.leftOut.length > 0) {
    lines.push(`  left out        ${facts.leftOut.join(", ")}: the variables that configure them are not set`);
  }
  lines.push("", "Try it:", "", ...curl(facts), "");
  return lines.join("\n");
}

function shown(key: Credential, variable: string, keysFile: string): string {
  if (key.origin === "new") return key.value;
  return key.origin === "kept" ? `in ${keysFile}` : `as given in ${variable}`;
}

function curl({ baseUrl, keys, model }: BannerFacts): string[] {
  const body = JSON.stringify({ model, input: "Say hello", stream: true });
  return [
    `curl -N ${baseUrl}/responses \\`,
    `  -H "Authorization: Bearer ${inShell(keys)}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${body}'`,
  ];
}

/** A key is shown once; later the line reads it from where it is. */
function inShell({ apiKey, keysFile }: Credentials): string {
  if (apiKey.origin === "new") return apiKey.value;
  if (apiKey.origin === "environment") return "$SLUICE_BOOTSTRAP_API_KEY";
  return `$(node -p 'require("${keysFile}").api_key')`;
}
