/** Half-upgraded installations in every combination, checked against what the earlier build promised. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildEarlier } from "./earlier.ts";
import { type Service, services } from "../../support/installation.ts";
import { type SuiteResult, runSuites, makeMixedCheckout } from "./mixed.ts";

/** All ways to upgrade some services but not all. */
export const partialUpgrades: readonly (readonly Service[])[] = [
  ["admin-svc"],
  ["admin-svc", "inference-svc"],
  ["inference-svc", "gateway"],
  ["gateway"],
  ["inference-svc"],
  ["admin-svc", "gateway"],
];

export interface PartialUpgrade {
  readonly upgraded: readonly Service[];
  readonly verdict: SuiteResult;
}

/** Builds an earlier revision in a folder, which is removed when the work is done. */
export async function withEarlierBuild<Result>(
  revision: string,
  work: (earlier: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-upgrade-"));
  try {
    const earlier = join(folder, "earlier");
    mkdirSync(earlier);
    await buildEarlier(revision, earlier);
    return await work(earlier);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param wanted for each installation, the upgraded services  @param files files of the earlier test/e2e, without their extension */
export async function runUpgradeCampaign(
  earlier: string,
  wanted: readonly (readonly Service[])[],
  files: readonly string[],
  progress: (line: string) => void = () => {},
): Promise<PartialUpgrade[]> {
  const done: PartialUpgrade[] = [];
  for (const upgraded of wanted) {
    const verdict = await runSuites(makeMixedCheckout(earlier, upgraded), files);
    done.push({ upgraded, verdict });
    progress(`${named(upgraded)}: ${verdict.total}${verdict.failures && `\n${verdict.failures}`}`);
  }
  return done;
}

const named = (upgraded: readonly Service[]): string =>
  services.map((service) => `${service} ${upgraded.includes(service) ? "new" : "old"}`).join(", ");
