/** npm run cluster: tests the manifests and the chart on a real API server. KUBE_BINARIES names the folder of its programs. */
import { checks, startCluster } from "./campaign.ts";
import { findPrograms } from "./programs.ts";

const programs = await findPrograms();
if (typeof programs === "string") {
  console.error(programs);
  process.exit(2);
}
const cluster = await startCluster(programs);
try {
  for (const [name, check] of Object.entries(checks(programs.helms, console.log))) {
    const start = performance.now();
    const complaint = await check(cluster).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    console.log(
      `${complaint === undefined ? "ok  " : "FAIL"} ${name} (${Math.round((performance.now() - start) / 1_000)} s)`,
    );
    if (complaint === undefined) continue;
    console.log(complaint);
    process.exitCode = 1;
  }
} finally {
  await cluster.stop();
}
