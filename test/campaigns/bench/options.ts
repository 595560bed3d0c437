/** The command line of the bench. */
import { parseArgs } from "node:util";
import type { Pace } from "./bench.ts";
import type { InstallationForm } from "./installation.ts";
import { type CountedLoadId, countedLoads } from "./counts/measure.ts";
import type { CountOptions } from "./counts/run.ts";
import type { ProfileOptions } from "./profile/run.ts";
import { type PeerPart, peerParts } from "./peers/rows.ts";
import { type ReferenceId, referenceIds } from "./peers/start.ts";
import { costScenarios } from "./scenarios/cost.ts";

export type CostId = keyof typeof costScenarios;

export const behaviourIds = [
  "idle",
  "first",
  "cold",
  "guarded",
  "doors",
  "cancel",
  "isolation",
  "slow-readers",
  "outage",
  "growth",
  "overload",
] as const;
export type BehaviourId = (typeof behaviourIds)[number];
export type ScenarioId = CostId | BehaviourId;

export const scenarioIds: readonly ScenarioId[] = [...(Object.keys(costScenarios) as CostId[]), ...behaviourIds];
/** Scenarios that compare several builds; all others measure one installation. */
const pairedIds: readonly ScenarioId[] = [
  ...(Object.keys(costScenarios) as CostId[]),
  "first",
  "cold",
  "guarded",
  "doors",
];

/** Milliseconds for repetitions of scenarios, with which a full run takes about twenty minutes. */
const repeatForMs = 220_000;
/** Milliseconds for repetitions if several builds are compared: `--only U,U20,P10` takes some ten minutes. */
const repeatPairsForMs = 900_000;

export interface BenchOptions {
  readonly selected: ReadonlySet<ScenarioId>;
  /** Checkouts to compare; this one if none is given. */
  readonly checkouts: readonly string[];
  /** Each build runs in each of these forms. */
  readonly forms: readonly InstallationForm[];
  readonly references: readonly ReferenceId[];
  readonly quick: boolean;
  readonly pace: Pace;
}

const countedIds = Object.keys(countedLoads) as CountedLoadId[];
const placesShown = 25;

/**
 * Timings of a comparison with other gateways; with four of them, a run takes some twenty minutes. The warm-up suits Sluice, in which V8 compiles the
 * most: each of its two endpoints gets as many requests, and it is warm after three thousand.
 */
const peersPace: Pace = {
  rounds: 6,
  warmUpMs: 0,
  warmUpUnits: 3_000,
  warmUpStarts: 0,
  windowMs: 2_000,
  coldRequests: 0,
  coldRounds: 0,
  repeatUntilMs: 600_000,
};

const usage = `usage:
  npm run bench -- [--quick] [--checkout <folder>]... [--one-process] [--reference <names>] [--only ${scenarioIds.join(",")}]
      --checkout <folder>, twice or more: these builds take turns in one run, in ${pairedIds.join(",")}
      --one-process: each build also with gateway and inference-svc in one process, in the same turns
      --reference ${referenceIds.join(",")}: these proxies as well, where they are installed
  npm run bench -- --peers [--quick] [--only ${peerParts.join(",")}]
      Sluice beside other gateways, which npm run bench -- --install-peers installs, in a network of loopback alone
  npm run bench -- --counts [--sites] [--checkout <folder>]... [--only ${countedIds.join(",")}]
      promises and allocated bytes per request and event; --sites names the code that they come from
  npm run bench -- --profile [--sites] [--checkout <folder>]... [--only ${countedIds.join(",")}]
      processor time by kind of code (U when nothing is chosen), with perf where it may be used; --sites names the code that asked for it`;

const quickly = { warmUpUnits: 0, warmUpStarts: 0, coldRequests: 1_000, coldRounds: 1 };
const thoroughly = { warmUpMs: 4_000, warmUpUnits: 12_000, warmUpStarts: 2_000, coldRequests: 5_000, coldRounds: 3 };

/**
 * Timings for builds measured in turn: many short windows, because the machine's speed drifts within seconds and neighbouring windows share it. The
 * interval of the median was 0.90 to 1.11 while the pipe varied 2.2-fold (2026-11-30); each start of a build adds some 5 % of its own.
 */
const inTurns = { rounds: 24, windowMs: 1_500 };
const singly = { rounds: 5, windowMs: 3_000 };

export interface PeersOptions {
  readonly peersAt: Pace;
  readonly parts: ReadonlySet<PeerPart>;
}

export interface InstallOptions {
  readonly installs: true;
}

export type Options = BenchOptions | CountOptions | ProfileOptions | PeersOptions | InstallOptions;

/** @throws for an unknown option or scenario, with a usage text */
export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const {
    checkout: checkouts = [],
    only,
    quick,
    counts,
    profile,
    sites,
    reference,
    "one-process": oneProcess,
  } = values;
  if (values["install-peers"]) return { installs: true };
  if (values.peers)
    return {
      peersAt: quick ? { ...peersPace, rounds: 2, warmUpUnits: 100, repeatUntilMs: 0 } : peersPace,
      parts: new Set(named(only, peerParts)),
    };
  if (profile) return { profiled: named(only ?? "U", countedIds), checkouts, places: sites ? placesShown : 0 };
  if (counts) return { loads: named(only, countedIds), checkouts, places: sites ? placesShown : 0 };
  const isPaired = checkouts.length > 1 || oneProcess;
  const repeatUntilMs = performance.now() + (isPaired ? repeatPairsForMs : repeatForMs);
  return {
    selected: new Set(named(only, isPaired ? pairedIds : scenarioIds)),
    checkouts,
    forms: oneProcess ? ["two processes", "one process"] : ["two processes"],
    references: reference === undefined ? [] : named(reference, referenceIds),
    quick,
    pace: quick
      ? { rounds: 2, warmUpMs: 1_000, ...quickly, windowMs: 1_000, repeatUntilMs: 0 }
      : { ...thoroughly, ...(isPaired ? inTurns : singly), repeatUntilMs },
  };
}

function named<Id extends string>(only: string | undefined, ids: readonly Id[]): readonly Id[] {
  const names = only?.split(",") ?? ids;
  for (const name of names) if (!ids.includes(name as Id)) throw new Error(`unknown scenario: ${name}\n${usage}`);
  return names as readonly Id[];
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string" },
        counts: { type: "boolean", default: false },
        profile: { type: "boolean", default: false },
        sites: { type: "boolean", default: false },
        peers: { type: "boolean", default: false },
        "install-peers": { type: "boolean", default: false },
        reference: { type: "string" },
        "one-process": { type: "boolean", default: false },
        checkout: { type: "string", multiple: true },
      },
    }).values;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}
