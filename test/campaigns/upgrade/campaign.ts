/** Half-upgraded installations in every combination, checked against the earlier build's promises. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildEarlier } from "./earlier.ts";
import { type Service, services } from "../../support/installation.ts";
import { type SuiteResult, runSuites, makeMixedCheckout } from "./mixed.ts";

/** Every way to have upgraded some services, and not all of them. */
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

/** Gives an earlier build in a folder, removed when the work is done. */
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

/**
 * @param wanted the upgraded services, for each installation
 * @param files of the earlier test/e2e, without their extension
 */
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
