/** `check-config [FILE]`: every problem of a configuration file, or what it would serve in this environment. */
import { parseArgs } from "node:util";
import { namedArguments, table } from "@sluice/proto/lib/process/cli.js";
import { ConfigError } from "@sluice/proto/lib/process/environment.js";
import type { ConfigFile, LoadedConfig, ModelSettings, ProviderSettings } from "@sluice/proto/config/config-file.js";
import { leftOutReason } from "@sluice/proto/config/left-out.js";
import { loadSdkPackages, leaveOutBrokenProviders } from "../../models/upstream/ai-sdk/load.ts";
import {
  type OperatorCommand,
  type OperatorTerminal,
  leftOutProblems,
  checkEdgeSettings,
  checkSinks,
  loadConfiguration,
  seedDate,
} from "./configuration.ts";
import { findIdentity } from "./identities.ts";

export const checkConfig: OperatorCommand = {
  usage: "[FILE] [--json]",
  summary: "Shows every problem of a configuration file, or what it would serve in this environment.",
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
    const [file = terminal.config, ...rest] = positionals;
    namedArguments(rest);
    const checked = await check(file, terminal);
    if (values.json === true) terminal.print(JSON.stringify(checked, null, 2));
    else linesOf(checked).forEach(terminal.print);
    return checked.ok ? 0 : 1;
  },
};

interface Checked {
  readonly ok: boolean;
  readonly file: string;
  /** Problems of the configuration file; each begins with the path of the setting. */
  readonly problems: readonly string[];
  readonly providers: readonly ProviderRow[];
  readonly models: readonly ModelRow[];
  readonly detectors: readonly DetectorRow[];
  /** Names of the configured alerts, and of the exports. */
  readonly alerts: readonly string[];
  readonly exports: readonly string[];
  /** Date of the built-in prices. */
  readonly catalogue_date: string;
}

interface DetectorRow {
  readonly id: string;
  readonly dialect: string;
  /** Origin of the URL only: its path may be secret. */
  readonly origin: string;
  readonly categories: readonly string[];
}

interface ProviderRow {
  readonly id: string;
  /** Unset environment variables that exclude the provider. */
  readonly left_out?: readonly string[];
  /** Reason for excluding the provider, other than a missing variable. */
  readonly problem?: string;
  readonly name?: string;
  readonly dialect?: string;
  readonly region?: string;
  readonly models?: number;
  /** The identity used for a cloud provider without keys in the configuration. */
  readonly identity?: string;
}

interface ModelRow {
  readonly id: string;
  readonly context_length: number;
  readonly endpoints: readonly EndpointRow[];
}

interface EndpointRow {
  readonly provider: string;
  readonly upstream_model: string;
  readonly tier: string;
  /** USD per million tokens; null when unknown. */
  readonly pricing: { readonly prompt: string; readonly completion: string } | null;
}

async function check(file: string, terminal: OperatorTerminal): Promise<Checked> {
  const nothing = {
    ok: false,
    file,
    problems: [],
    providers: [],
    models: [],
    detectors: [],
    alerts: [],
    exports: [],
    catalogue_date: seedDate(),
  };
  // A set, because an unreadable file is the same problem for both.
  const problems = new Set<string>();
  const usable = await collecting(problems, async () => {
    const loaded = loadConfiguration(file, terminal);
    const packages = await loadSdkPackages(loaded.file.providers, terminal.environment["SLUICE_PACKAGES_DIR"]);
    return leaveOutBrokenProviders(loaded, packages, file);
  });
  const ofLeftOut = await collecting(problems, async () => leftOutProblems(file, terminal));
  for (const problem of ofLeftOut ?? []) problems.add(problem);
  await collecting(problems, async () => checkEdgeSettings(file, terminal));
  const sinks = await collecting(problems, async () => checkSinks(file, terminal));
  for (const problem of usable ? identityProblems(usable, terminal) : []) problems.add(problem);
  if (usable === undefined || sinks === undefined || problems.size > 0) return { ...nothing, problems: [...problems] };
  const named = { alerts: sinks.alerts.map(({ name }) => name), exports: sinks.exports.map(({ name }) => name) };
  return { ...nothing, ok: true, ...served(usable, terminal), ...named };
}

const identityProblems = ({ file }: LoadedConfig, { environment }: OperatorTerminal): string[] =>
  file.providers.flatMap((provider) =>
    (findIdentity(provider, environment)?.problems ?? []).map((problem) => `provider ${provider.id}: ${problem}`),
  );

/** Runs the work and collects the problems of the configuration. @param problems receives the problems @returns undefined when there are any */
async function collecting<Result>(problems: Set<string>, work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) problems.add(problem);
    return undefined;
  }
}

const served = (
  { file, leftOut }: LoadedConfig,
  { environment }: OperatorTerminal,
): Pick<Checked, "providers" | "models" | "detectors"> => ({
  providers: [
    ...file.providers.map((provider) => providerRow(provider, file, environment)),
    ...leftOut.map(({ provider: id, unset, problem }) => ({ id, left_out: unset, ...(problem && { problem }) })),
  ],
  models: file.models.map(modelRow),
  detectors: file.detectors.map(({ id, dialect, base_url, categories }) => ({
    id,
    dialect,
    origin: new URL(base_url).origin,
    categories: Object.keys(categories),
  })),
});

function providerRow(provider: ProviderSettings, file: ConfigFile, environment: NodeJS.ProcessEnv): ProviderRow {
  const { id, name = id, dialect, region } = provider;
  const identity = findIdentity(provider, environment)?.words;
  return { id, name, dialect, region, models: modelsAt(id, file), ...(identity !== undefined && { identity }) };
}

const modelsAt = (id: string, { models }: ConfigFile): number =>
  models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === id)).length;

const modelRow = ({ id, context_length, endpoints }: ModelSettings): ModelRow => ({
  id,
  context_length,
  endpoints: endpoints.map(({ provider, upstream_model = id, tier, pricing }) => ({
    provider,
    upstream_model,
    tier,
    pricing: pricing ? { prompt: pricing.prompt, completion: pricing.completion } : null,
  })),
});

function linesOf({
  ok,
  file,
  problems,
  providers,
  models,
  detectors,
  alerts,
  exports,
  catalogue_date: date,
}: Checked): string[] {
  if (!ok) {
    return [
      `${file}: ${problems.length === 1 ? "a problem" : `${problems.length} problems`}`,
      ...problems.map(indented),
    ];
  }
  const endpoints = models.flatMap((model) => model.endpoints.map((endpoint) => endpointCells(model, endpoint)));
  const unpriced = models.flatMap((model) => model.endpoints).filter(({ pricing }) => pricing === null).length;
  return [
    `${file}: good`,
    "",
    ...table(["PROVIDER", "NAME", "DIALECT", "REGION", "MODELS"], providers.filter(isServed).map(providerCells)),
    ...providers.flatMap(({ id, identity }) => (identity === undefined ? [] : [`Identity of ${id}: ${identity}.`])),
    ...providers.flatMap(({ id, left_out: unset, problem }) =>
      unset
        ? [`Left out: ${id}, as ${leftOutReason({ unset, problem })}.${problem ? "" : " Its definition is good."}`]
        : [],
    ),
    "",
    ...table(["MODEL", "PROVIDER", "ITS NAME THERE", "TIER", "WINDOW", "INPUT", "OUTPUT"], endpoints),
    ...(detectors.length > 0
      ? ["", ...table(["DETECTOR", "DIALECT", "WHERE", "FINDS"], detectors.map(detectorCells))]
      : []),
    ...(alerts.length > 0 ? ["", `Alerts go to ${alerts.join(", ")}.`] : []),
    ...(exports.length > 0 ? ["", `Turns are exported to ${exports.join(", ")}.`] : []),
    "",
    `Prices are USD per million tokens; those that the file does not state are of ${date}.`,
    ...(unpriced > 0 ? [`Endpoints without a price: ${unpriced}. No cost is known of their turns.`] : []),
  ];
}

const isServed = ({ left_out: unset }: ProviderRow): boolean => unset === undefined;

const indented = (line: string): string => `  ${line}`;

const providerCells = ({ id, name = "", dialect = "", region = "", models = 0 }: ProviderRow): string[] => [
  id,
  name,
  dialect,
  region,
  String(models),
];

const detectorCells = ({ id, dialect, origin, categories }: DetectorRow): string[] => [
  id,
  dialect,
  origin,
  categories.join(", "),
];

const endpointCells = (model: ModelRow, { provider, upstream_model, tier, pricing }: EndpointRow): string[] => [
  model.id,
  provider,
  upstream_model,
  tier,
  String(model.context_length),
  pricing?.prompt ?? "-",
  pricing?.completion ?? "-",
];
