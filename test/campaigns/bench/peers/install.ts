/** `npm run bench -- --install-peers`: installs the pinned version of each missing gateway. */
import { fillFolder, isInstalled, peerFolder } from "./cache.ts";
import { peers } from "./peers.ts";
import { unmeasuredGateways } from "./versions.ts";

/** @returns a line for each gateway, installed or missing */
export async function installPeers(say: (line: string) => void): Promise<string> {
  const lines: string[] = [];
  for (const [id, peer] of Object.entries(peers)) {
    const { name, version } = peer;
    if (!isInstalled(id, version)) say(`installing ${name} ${version}`);
    try {
      if (!isInstalled(id, version)) await fillFolder(id, version, (folder) => peer.install(folder));
      lines.push(`${name} ${version}: ${peerFolder(id)}`);
    } catch (error) {
      lines.push(`${name} ${version} is absent: ${(error as Error).message}`);
    }
  }
  for (const [name, why] of Object.entries(unmeasuredGateways)) lines.push(`${name} is absent: ${why}`);
  return `${lines.join("\n")}\n`;
}
