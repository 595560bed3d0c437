/**
 * Builds the documentation of a checkout once its services are up. The build takes 8 s of a processor, for which a first start would have to wait;
 * until it is done, the gateway shows a notice at `/docs`. It runs on plain Node without dependencies.
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { isSiteBuilt } from "../../docs/build.mjs";
import { lowMemoryEnvironment, runTool } from "./tool.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Arguments of Node that build the documentation. */
const siteBuild = ["--max-old-space-size=260", "--max-semi-space-size=8", join(root, "docs", "build.mjs")];

/** @param say receives a line about progress if there is something to build */
export async function buildSite(say) {
  if (isSiteBuilt()) return;
  say("building the documentation, which takes some seconds");
  await runTool(process.execPath, siteBuild, "the build of the documentation");
}

/** Priority of the build (`nice`), below the services. With 10 or more, a busy machine would let the build starve for minutes. */
const lowPriority = 5;

/**
 * Environment variables of a build next to running services. It takes 290 to 415 MB of memory with them, and up to 680 MB without (two cores,
 * 2026-11-29).
 */
const small = { ...lowMemoryEnvironment, RAYON_NUM_THREADS: "1", TOKIO_WORKER_THREADS: "1", UV_THREADPOOL_SIZE: "1" };

/**
 * Builds the documentation in the background if it is out of date, at a low priority; the build ends with this process. `npm run site` shows the
 * reason of a failure.
 */
export function buildSiteLater() {
  if (isSiteBuilt()) return;
  const child = spawn(process.execPath, siteBuild, { cwd: root, stdio: "ignore", env: { ...process.env, ...small } });
  child.on("error", () => undefined);
  child.unref();
  process.once("exit", () => child.kill("SIGKILL"));
  if (child.pid !== undefined) setPriority(child.pid, lowPriority);
}
