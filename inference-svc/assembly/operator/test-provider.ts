/** `test-provider ID`: sends one tiny request to a provider, through the code for real turns. */
import { CommandError, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { LoadedConfig, ProviderSettings } from "@sluice/proto/config/config-file.js";
import { leftOutReason } from "@sluice/proto/config/left-out.js";
import { Catalog } from "../../models/routing/catalog.ts";
import { loadSdkPackages } from "../../models/upstream/ai-sdk/load.ts";
import { type OperatorCommand, loadConfiguration } from "./configuration.ts";
import { type TrialResult, findTarget, tryProvider } from "../../models/trial/try-provider.ts";

const limitMs = 60_000;

export const testProvider: OperatorCommand = {
  usage: "ID [--model MODEL] [--json]",
  summary: "Sends one tiny request to a provider, which may cost a fraction of a cent, and says how that went.",
  async run(args, terminal) {
    const { values, named } = readArguments(args, { json: { type: "boolean" }, model: { type: "string" } }, "ID");
    const id = named.ID;
    const loaded = loadConfiguration(terminal.config, terminal);
    const provider = providerOf(loaded, id);
    const target = findTarget(new Catalog(loaded.file), id, values.model);
    if (!target) throw new CommandError(`${id} serves no model here; name one of its own with --model`);
    const packages = await loadSdkPackages([provider], terminal.environment["SLUICE_PACKAGES_DIR"]);
    const host = provider.base_url === undefined ? id : new URL(provider.base_url).host;
    const tried = await tryProvider(provider, target, { version: terminal.version, packages, host, limitMs });
    if (values.json === true) terminal.print(JSON.stringify(tried, null, 2));
    else linesOf(tried).forEach(terminal.print);
    return tried.ok ? 0 : 1;
  },
};

function providerOf({ file, leftOut }: LoadedConfig, id: string): ProviderSettings {
  const provider = file.providers.find((each) => each.id === id);
  if (provider) return provider;
  const left = leftOut.find((each) => each.provider === id);
  if (left) throw new CommandError(`${id} is left out: ${leftOutReason(left)}`);
  throw new CommandError(`no provider is called ${id}; one of ${file.providers.map((each) => each.id).join(", ")}`);
}

function linesOf({
  ok,
  provider,
  model,
  upstream_model,
  latency_ms,
  outcome = "",
  usage,
  cause,
}: TrialResult): string[] {
  const asked = upstream_model === model ? model : `${model} (there: ${upstream_model})`;
  const facts = [
    ["provider", provider],
    ["model", asked],
    ["latency", `${latency_ms} ms`],
    ...(usage ? [["usage", `${usage.input_tokens} tokens in, ${usage.output_tokens} out`]] : []),
    ...(ok ? [["status", outcome]] : [["failed", `${cause?.kind}: ${cause?.message}`]]),
  ];
  return facts.map(([name = "", value = ""]) => `${name.padEnd(10)}${value}`);
}
