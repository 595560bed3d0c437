/** The gateways that are compared with Sluice. */
import { litellm } from "./litellm.ts";
import type { Peer } from "./peer.ts";
import { portkey } from "./portkey.ts";

export const peers = { portkey, litellm } as const satisfies Readonly<Record<string, Peer>>;
export type PeerId = keyof typeof peers;
export const peerIds = Object.keys(peers) as PeerId[];
