/**
 * A network namespace for a run, with loopback only: third-party programs can reach the scripted upstream and nothing else. Upstream and clients run
 * inside, too.
 */
import { spawn } from "node:child_process";
import { networkInterfaces } from "node:os";

/** Whether this process sees only loopback, as in a new network namespace. */
export const isInNetworkNamespace = (): boolean =>
  Object.values(networkInterfaces()).every((addresses) => addresses?.every(({ internal }) => internal));

/** Users other than root need a user namespace as well. They keep their user id in it, since Postgres refuses to run as root. */
const own = process.getuid?.() === 0 ? ["--net"] : ["--net", "--map-current-user", "--keep-caps"];

/** Runs this program again with the same arguments in a network namespace. @returns its exit code @throws without the program `unshare` */
export function runInNetworkNamespace(interruption: AbortSignal): Promise<number> {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const args = [...own, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...again];
  const child = spawn("unshare", args, { stdio: "inherit" });
  interruption.addEventListener("abort", () => child.kill("SIGTERM"));
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`a network of its own needs unshare and ip: ${error.message}`)));
    child.once("close", (code) => resolve(code ?? 130));
  });
}
