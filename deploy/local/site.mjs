/**
 * Builds the documentation of a checkout once its services are up. It takes 8 s of a processor, which a first start would otherwise wait for; until then the
 * gateway shows at `/docs` that it is being built. Plain Node, without dependencies.
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { isSiteBuilt } from "../../docs/build.mjs";
import { lowMemoryEnvironment, runTool } from "./tool.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Arguments of Node for the build. */
const siteBuild = ["--max-old-space-size=260", "--max-semi-space-size=8", join(root, "docs", "build.mjs")];

/** @param say receives a line when there is something to build */
export async function buildSite(say) {
  if (isSiteBuilt()) return;
  say("building the documentation, which takes some seconds");
  await runTool(process.execPath, siteBuild, "the build of the documentation");
}

/** Below the services. Ten or more would starve the build for minutes on a busy machine. */
const lowPriority = 5;

/** Variables of a build next to running services: it takes 290 to 415 MB with them, and up to 680 without (two cores, 2026-11-29). */
const small = { ...lowMemoryEnvironment, RAYON_NUM_THREADS: "1", TOKIO_WORKER_THREADS: "1", UV_THREADPOOL_SIZE: "1" };

/** Starts the build when it is out of date, at a low priority; it ends with this process. A failure shows at `npm run site`. */
export function buildSiteLater() {
  if (isSiteBuilt()) return;
  const child = spawn(process.execPath, siteBuild, { cwd: root, stdio: "ignore", env: { ...process.env, ...small } });
  child.on("error", () => undefined);
  child.unref();
  process.once("exit", () => child.kill("SIGKILL"));
  if (child.pid !== undefined) setPriority(child.pid, lowPriority);
}
