/**
 * Measures variants of a request against the plain request in one running Sluice; the variants are sent in turn in each round. With several builds,
 * each of them is measured in turn, too.
 */
import type { Bench, ResultRow } from "../bench.ts";
import type { LoadTarget } from "../client/target.ts";
import type { BenchInstallation } from "../installation.ts";
import { type Round as PairedRound, type Rounds, median, pairedRounds } from "../measure/rounds.ts";
import type { SubjectLoad } from "../measure/subject-windows.ts";
import type { LoadWindow } from "../roles/load.ts";

/** A way to send the same request. */
export interface Variant {
  readonly name: string;
  readonly target: LoadTarget;
}

export interface VariantScenario extends SubjectLoad {
  readonly title: string;
  /** Maximum ratio to the plain request, by the name of the variant. A variant without one is only reported. */
  readonly gates: Readonly<Record<string, number>>;
  readonly goal?: number;
}

interface VariantInstallation {
  readonly installation: BenchInstallation;
  readonly plain: Variant;
  readonly variants: readonly Variant[];
}

interface Round extends PairedRound {
  /** Microseconds per unit in both processes. */
  readonly costs: ReadonlyMap<Variant, number>;
}

/** @param open creates the variants for one installation, the plain request first */
export async function measureVariants(
  bench: Bench,
  scenarios: readonly VariantScenario[],
  open: (installation: BenchInstallation) => Promise<readonly [Variant, ...Variant[]]>,
): Promise<readonly ResultRow[]> {
  const installations: VariantInstallation[] = [];
  for (const installation of bench.installations) {
    const [plain, ...variants] = await open(installation);
    installations.push({ installation, plain, variants });
  }
  const findings: ResultRow[] = [];
  for (const scenario of scenarios) findings.push(...(await measure(bench, scenario, installations)));
  return findings;
}

async function measure(
  bench: Bench,
  scenario: VariantScenario,
  installations: readonly VariantInstallation[],
): Promise<readonly ResultRow[]> {
  const { pace } = bench;
  for (const { installation, plain, variants } of installations)
    for (const { target } of [plain, ...variants]) await load(bench, scenario, { installation, target }, pace.warmUpMs);
  const rounds = await pairedRounds(
    pace.rounds,
    (round) => measureRound(bench, scenario, round % 2 === 0 ? installations : installations.toReversed()),
    () => performance.now() < pace.repeatUntilMs,
  );
  return installations.flatMap((subject, place) =>
    subject.variants.flatMap((variant, index) => {
      const first = place === 0 ? undefined : installations[0]?.variants[index];
      const found = finding(bench, scenario, { subject, variant }, rounds);
      return first === undefined ? [found] : [found, comparison(scenario, { subject, variant, first }, rounds)];
    }),
  );
}

/** @param installations installations in the order of this round, which varies: the second finds warm caches */
async function measureRound(
  bench: Bench,
  scenario: VariantScenario,
  installations: readonly VariantInstallation[],
): Promise<Round> {
  const costs = new Map<Variant, number>();
  const foreignShares: number[] = [];
  for (const { installation, plain, variants } of installations) {
    const all = [plain, ...variants];
    for (const variant of all) {
      const window = await load(bench, scenario, { installation, target: variant.target }, bench.pace.windowMs);
      foreignShares.push(window.foreignShare);
      for (const [problem, count] of window.problems) bench.say(`  ${count} x ${problem}`);
      costs.set(variant, costOf(window));
    }
    bench.say(
      `  ${installation.name}: ${all.map((each) => `${each.name} ${us(costs.get(each) ?? Number.NaN)}`).join(", ")}`,
    );
  }
  const plain = installations.map((installation) => costs.get(installation.plain) ?? Number.NaN);
  return { referenceUs: Math.min(...plain), foreignShare: Math.max(...foreignShares), costs };
}

function load(
  bench: Bench,
  { script, connections, spreadMs, form }: VariantScenario,
  { installation, target }: { readonly installation: BenchInstallation; readonly target: LoadTarget },
  windowMs: number,
): Promise<LoadWindow> {
  return bench.load.call("window", {
    target,
    script,
    connections,
    spreadMs,
    ...(form && { form }),
    rampMs: spreadMs + 300,
    windowMs,
    watched: installation.pids,
    root: process.pid,
  });
}

/** Microseconds of both processes per unit. */
const costOf = ({ watchedNs, units }: LoadWindow): number => watchedNs.reduce((sum, ns) => sum + ns, 0) / units / 1_000;

const us = (value: number) => `${value.toFixed(1)} us`;

function costIn({ costs }: Round, variant: Variant): number {
  const found = costs.get(variant);
  if (found === undefined) throw new Error(`${variant.name} was not measured`);
  return found;
}

interface Measured {
  readonly subject: VariantInstallation;
  readonly variant: Variant;
}

const titleOf = ({ title }: VariantScenario, { subject: { plain }, variant }: Measured): string =>
  `${title}, ${variant.name} against ${plain.name}`;

function finding(
  { installations }: Bench,
  scenario: VariantScenario,
  measured: Measured,
  { used, inconclusive }: Rounds<Round>,
): ResultRow {
  const { installation, plain } = measured.subject;
  const { variant } = measured;
  const middle = (pick: (round: Round) => number) => median(used.map(pick));
  const ratio = middle((round) => costIn(round, variant) / costIn(round, plain));
  const gate = scenario.gates[variant.name];
  const goal = scenario.goal === undefined ? "" : `(goal ${scenario.goal.toFixed(1)})`;
  return {
    measure: titleOf(scenario, measured) + (installations.length === 1 ? "" : ` [${installation.name}]`),
    installation: `${us(middle((round) => costIn(round, variant)))}, ${plain.name} ${us(middle((round) => costIn(round, plain)))}`,
    pipe: "",
    ratio: `median ${ratio.toFixed(2)} (${used.length} rounds)`,
    gate: gate === undefined ? goal : `<= ${gate}`,
    verdict: gate === undefined ? "reported" : inconclusive ? "inconclusive" : ratio <= gate ? "pass" : "MISS",
  };
}

/** Compares two builds by the ratios within single rounds, where disturbances affect both alike. */
function comparison(
  scenario: VariantScenario,
  { first, ...measured }: Measured & { readonly first: Variant },
  { used, inconclusive }: Rounds<Round>,
): ResultRow {
  const ratio = median(used.map((round) => costIn(round, measured.variant) / costIn(round, first)));
  return {
    measure: `${titleOf(scenario, measured)}: ${measured.subject.installation.name} against the first build`,
    installation: "",
    pipe: "",
    ratio: `median ${ratio.toFixed(2)} (${used.length} rounds)`,
    gate: "",
    verdict: inconclusive ? "inconclusive" : "reported",
  };
}
